//! What there is of one user, over what an engine reads of its tables: all conversations of the tenant are walked, since
//! the user may have left any, and each is asked by an index for what the user has sent.

use crate::feed::{Home, Kept, Source};
use im_domain::export::{Export, ExportCursor, Membership, Sent};
use im_domain::limits::{EXPORT_CONVERSATIONS_MAX, PAGE_CONTENT_BYTES_MAX};
use im_domain::message::Message;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, Result, UserId};

/// What an export is called in the audit.
pub(crate) const AUDITED: &str = "export";

pub(crate) fn may_export(actor: &Actor) -> Result<()> {
    match actor.privileged {
        true => Ok(()),
        false => Err(Error::forbidden("only an administrator takes out what there is of a user")),
    }
}

/// A message of the user.
pub(crate) struct Own {
    /// Which of the conversations asked about it is in.
    pub at: usize,
    pub sent: Sent,
}

/// What an engine reads of a user.
#[allow(async_fn_in_trait)] // Futures of a component are not `Send`.
pub(crate) trait Owned: Source {
    /// What is kept of the user in conversations, in their order; those that know nothing are left out.
    async fn memberships(&self, user: &UserId, kept: &[Kept]) -> Result<Vec<Membership>>;

    /// What the user has sent in conversations, in their order, and in each in the order of [`Sent`]; in the first after
    /// `after`. Up to `count`; no control messages.
    async fn own(&self, user: &UserId, kept: &[Kept], after: Option<&Sent>, count: usize)
    -> Result<Vec<Own>>;
}

/// One part, without the profile.
pub(crate) async fn part(
    source: &impl Owned,
    user: &UserId,
    cursor: ExportCursor,
    limit: u32,
) -> Result<Export> {
    let first = cursor.conversation.as_ref().map_or("", ConversationId::as_str);
    let mut kept = source.conversations(first, EXPORT_CONVERSATIONS_MAX).await?;
    let is_last = kept.len() < EXPORT_CONVERSATIONS_MAX;
    let is_begun = kept.first().is_some_and(|kept| Some(&kept.name) == cursor.conversation.as_ref());
    if is_begun && cursor.after.is_none() {
        kept.remove(0);
    }
    let after = cursor.after.as_ref().filter(|_| is_begun);
    let own = source.own(user, &kept, after, limit as usize + 1).await?;
    let (messages, taken) = messages(source, &kept, &own, limit).await?;
    let cut = own.get(taken).and_then(|_| own.get(taken.checked_sub(1)?));
    let last = cut.map_or(kept.len(), |last| last.at + 1);
    // Of one that was begun before it was told then.
    let told = kept.get(usize::from(after.is_some())..last).unwrap_or_default();
    let memberships = source.memberships(user, told).await?;
    let conversation = last.checked_sub(1).and_then(|last| kept.get(last)).map(|last| last.name.clone());
    let cursor = ExportCursor {
        conversation: conversation.or(cursor.conversation),
        after: cut.map(|last| last.sent.clone()),
    };
    let has_more = cut.is_some() || !is_last;
    Ok(Export { profile: None, memberships, messages, cursor, has_more })
}

/// The messages for which there is room, as they are now, and how many of `own` have been looked at for them.
async fn messages(
    source: &impl Owned,
    kept: &[Kept],
    own: &[Own],
    limit: u32,
) -> Result<(Vec<(ConversationId, Message)>, usize)> {
    let place = |own: &Own| kept.get(own.at).map(|kept| (kept, own.sent.msg_id));
    let keys: Vec<(Home, _)> = own.iter().filter_map(place).map(|(kept, id)| (kept.home, id)).collect();
    let mut found = source.by_keys(keys).await?;
    let (mut messages, mut room) = (Vec::new(), PAGE_CONTENT_BYTES_MAX);
    for (looked_at, (kept, msg_id)) in own.iter().filter_map(place).enumerate() {
        if looked_at == limit as usize {
            return Ok((messages, looked_at));
        }
        // What has expired is passed over.
        let Some(message) = found.remove(&(kept.home, msg_id)) else { continue };
        if message.content.len() > room && !messages.is_empty() {
            return Ok((messages, looked_at));
        }
        room = room.saturating_sub(message.content.len());
        messages.push((kept.name.clone(), message));
    }
    Ok((messages, own.len()))
}
