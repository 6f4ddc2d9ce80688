//! Erasing a user: all conversations of the tenant are walked as for an export; where there is something of the user it
//! goes, and at the end what is kept of the user alone. Repeated, each part changes nothing more. What is under legal hold
//! stays and is named; once it is held no more, that is all that is left to do.

use crate::export::{Own, Owned, Sendings, sendings};
use crate::feed::Kept;
use im_domain::erase::{Erased, tenant_is_held};
use im_domain::export::{ExportCursor, Reached, Sent};
use im_domain::limits::{ERASE_CONVERSATIONS_MAX, ERASE_MESSAGES_MAX, EXPORT_CONVERSATIONS_MAX};
use im_domain::retention::Retention;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, Result, UserId};
use std::collections::BTreeSet;

/// `retention`: what holds for the actor's tenant.
pub(crate) fn may_erase(actor: &Actor, retention: &Retention) -> Result<()> {
    if !actor.privileged {
        return Err(Error::forbidden("only an administrator erases a user"));
    }
    match retention.is_held() {
        true => Err(tenant_is_held()),
        false => Ok(()),
    }
}

/// What is to go from one conversation.
pub(crate) struct Erasure<'a> {
    /// Who erases.
    pub by: &'a UserId,
    pub user: &'a UserId,
    pub kept: &'a Kept,
    /// Messages that the user has sent.
    pub sent: &'a [Sent],
    /// It has no more of them: the user leaves.
    pub leaves: bool,
}

/// What has become of an erasure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Erased,
    Held,
}

/// What an engine does to erase a user.
#[allow(async_fn_in_trait)] // Futures of a component are not `Send`.
pub(crate) trait Eraser: Owned {
    /// All of it, or nothing of a conversation under legal hold.
    async fn erase(&self, erasure: &Erasure<'_>) -> Result<Outcome>;

    /// Deletes what is kept of the user beside conversations.
    async fn forget(&self, user: &UserId) -> Result<()>;
}

/// One part; `by`: who erases.
pub(crate) async fn part(
    source: &impl Eraser,
    by: &UserId,
    user: &UserId,
    cursor: ExportCursor,
) -> Result<Erased> {
    let first = cursor.conversation.as_ref().map_or("", ConversationId::as_str);
    let mut kept = source.conversations(first, EXPORT_CONVERSATIONS_MAX).await?;
    let is_last = kept.len() < EXPORT_CONVERSATIONS_MAX;
    let is_begun = kept.first().is_some_and(|kept| Some(&kept.name) == cursor.conversation.as_ref());
    if is_begun && cursor.after.is_none() {
        kept.remove(0);
    }
    let after = cursor.after.as_ref().filter(|_| is_begun);
    let Sendings { mut own, end } = sendings(source, user, &kept, after, ERASE_MESSAGES_MAX + 1).await?;
    let is_cut = own.len() > ERASE_MESSAGES_MAX;
    own.truncate(ERASE_MESSAGES_MAX);
    let last = own.last().filter(|_| is_cut).map(|last| (last.at, last.reached.clone()));
    let work = Work { source, by, user, kept: &kept, own: &own, cut: last.or(end), had_own: had_own(after) };
    let done = work.run().await?;
    let has_more = done.after.is_some() || !is_last || done.conversations < kept.len();
    if !has_more {
        source.forget(user).await?;
    }
    let last = done.conversations.checked_sub(1).and_then(|last| kept.get(last));
    let conversation = last.map(|last| last.name.clone()).or(cursor.conversation);
    let cursor = ExportCursor { conversation, after: done.after };
    Ok(Erased { messages: done.messages, held: done.held, cursor, has_more })
}

fn had_own(after: Option<&Reached>) -> bool {
    matches!(after, Some(Reached::Sent(_) | Reached::Cold { has_own: true, .. }))
}

/// What one part may do.
struct Work<'a, S> {
    source: &'a S,
    by: &'a UserId,
    user: &'a UserId,
    kept: &'a [Kept],
    own: &'a [Own],
    /// The conversation in which there may be more than `own` has, and how far it has been looked through.
    cut: Option<(usize, Reached)>,
    /// Something was erased in the first conversation before.
    had_own: bool,
}

/// What one part has done.
#[derive(Default)]
struct Done {
    /// How many of the part's conversations have been come to.
    conversations: usize,
    /// How far the last of them has been looked through, if there may be more in it.
    after: Option<Reached>,
    messages: u64,
    held: Vec<ConversationId>,
}

impl<S: Eraser> Work<'_, S> {
    /// Erases in as many conversations as one part may.
    async fn run(&self) -> Result<Done> {
        let known = self.source.memberships(self.user, self.kept).await?;
        let known: BTreeSet<&ConversationId> = known.iter().map(|one| &one.conversation).collect();
        let cut = self.cut.as_ref().map(|(at, _)| *at);
        let (mut done, mut erasures) = (Done::default(), 0);
        for (at, kept) in self.kept.iter().enumerate().take(cut.map_or(self.kept.len(), |cut| cut + 1)) {
            let sent: Vec<Sent> =
                self.own.iter().filter(|own| own.at == at).map(|own| own.sent.clone()).collect();
            let leaves = cut != Some(at);
            let is_begun = at == 0 && self.had_own;
            done.after = self.cut.as_ref().filter(|_| !leaves).map(|(_, reached)| reached.clone());
            if !sent.is_empty() || (leaves && (is_begun || known.contains(&kept.name))) {
                if erasures == ERASE_CONVERSATIONS_MAX {
                    done.after = None;
                    return Ok(done);
                }
                erasures += 1;
                let (by, user) = (self.by, self.user);
                let erasure = Erasure { by, user, kept, sent: &sent, leaves };
                let outcome = self.source.erase(&erasure).await?;
                done.note(&erasure, outcome);
            }
            done.conversations = at + 1;
        }
        Ok(done)
    }
}

impl Done {
    fn note(&mut self, erasure: &Erasure<'_>, outcome: Outcome) {
        match outcome {
            Outcome::Erased => self.messages += erasure.sent.len() as u64,
            // Whatever else the user has said in it stays as well.
            Outcome::Held => {
                self.held.push(erasure.kept.name.clone());
                self.after = None;
            }
        }
    }
}
