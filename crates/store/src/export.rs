//! What there is of one user, over what an engine reads of its tables: all conversations of the tenant are walked, since
//! the user may have left any, and each is asked by an index for what the user has sent.

use crate::feed::{Home, Kept, Source};
use im_domain::export::{Export, ExportCursor, Membership, Profile, Reached, Sent};
use im_domain::limits::{
    EXPORT_CONVERSATIONS_MAX, EXPORT_HIDDEN_MAX, EXPORT_SEGMENTS_MAX, PAGE_CONTENT_BYTES_MAX,
};
use im_domain::message::Message;
use im_domain::push::PushSettingsChange;
use im_domain::storage::{Actor, Storage};
use im_domain::{ConversationId, Error, MsgId, Result, UserId};
use std::collections::{BTreeSet, HashMap};

pub(crate) fn may_export(actor: &Actor) -> Result<()> {
    match actor.privileged {
        true => Ok(()),
        false => Err(Error::forbidden("only an administrator takes out what there is of a user")),
    }
}

/// What is kept of the user beside conversations.
pub(crate) async fn profile(store: &impl Storage, actor: &Actor, user: &UserId) -> Result<Profile> {
    let owner = Actor { user: user.clone(), ..actor.clone() };
    let devices = store.devices(&owner, None).await?;
    Ok(Profile { devices, push: store.push_settings(&owner, PushSettingsChange::default()).await? })
}

/// A message of the user.
pub(crate) struct Own {
    /// Which of the conversations asked about it is in.
    pub at: usize,
    pub sent: Sent,
    /// How far its conversation has been looked through with it.
    pub reached: Reached,
}

impl Own {
    pub fn row(at: usize, sent: Sent) -> Self {
        Self { at, reached: Reached::Sent(sent.clone()), sent }
    }
}

/// Which part of the cold part of a conversation is looked through.
#[derive(Clone, Copy)]
pub(crate) struct ColdPart {
    pub above: MsgId,
    /// Segments at the most.
    pub segments: usize,
    /// Messages that are enough.
    pub count: usize,
}

/// What a user has sent in the cold part of a conversation, as far as that was looked through.
pub(crate) struct OwnCold {
    pub sent: Vec<Sent>,
    /// Segments looked through.
    pub segments: usize,
    /// Up to which message; none: to its end.
    pub up_to: Option<MsgId>,
}

/// What an engine reads of a user.
#[allow(async_fn_in_trait)] // Futures of a component are not `Send`.
pub(crate) trait Owned: Source {
    /// What is kept of the user in conversations, in their order, without what is hidden; those that know nothing are left
    /// out.
    async fn memberships(&self, user: &UserId, kept: &[Kept]) -> Result<Vec<Membership>>;

    /// Messages that the user has hidden in conversations, in their order, each with its place among these; up to `count`.
    /// What has expired is left out.
    async fn hidden(&self, user: &UserId, kept: &[Kept], count: usize) -> Result<Vec<(usize, MsgId)>>;

    /// What the user has sent in conversations that are rows, in their order, and in each in the order of [`Sent`]; in the
    /// first after `after`. Up to `count`; no control messages.
    async fn own(&self, user: &UserId, kept: &[Kept], after: Option<&Sent>, count: usize)
    -> Result<Vec<Own>>;

    /// What the user has sent in the cold part of a conversation, by id; rows there may be among it.
    async fn own_cold(&self, user: &UserId, kept: &Kept, part: ColdPart) -> Result<OwnCold>;
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
    let mut is_last = kept.len() < EXPORT_CONVERSATIONS_MAX;
    let is_begun = kept.first().is_some_and(|kept| Some(&kept.name) == cursor.conversation.as_ref());
    if is_begun && cursor.after.is_none() {
        kept.remove(0);
    }
    let after = cursor.after.as_ref().filter(|_| is_begun);
    // Of one that was begun that was told then.
    let told_before = usize::from(after.is_some());
    let hidden = hidden(source, user, kept.get(told_before..).unwrap_or_default()).await?;
    if let Some(room) = hidden.room {
        kept.truncate(told_before + room);
        is_last = false;
    }
    let Sendings { own, end } = sendings(source, user, &kept, after, limit as usize + 1).await?;
    let (messages, taken) = messages(source, &kept, &own, limit).await?;
    let cut = own.get(taken).and_then(|_| own.get(taken.checked_sub(1)?));
    let cut = cut.map(|last| (last.at, last.reached.clone())).or(end);
    let last = cut.as_ref().map_or(kept.len(), |(at, _)| at + 1);
    let told = kept.get(told_before..last).unwrap_or_default();
    let memberships = hidden.add_to(source.memberships(user, told).await?, told);
    let conversation = last.checked_sub(1).and_then(|last| kept.get(last)).map(|last| last.name.clone());
    let has_more = cut.is_some() || !is_last;
    let after = cut.map(|(_, reached)| reached);
    let cursor = ExportCursor { conversation: conversation.or(cursor.conversation), after };
    Ok(Export { profile: None, memberships, messages, cursor, has_more })
}

/// What a user has sent in conversations, as far as they were looked through.
pub(crate) struct Sendings {
    pub own: Vec<Own>,
    /// Where that ended before all of them were.
    pub end: Option<(usize, Reached)>,
}

/// What the user has sent: in each conversation first what are rows, then what is packed. Up to `count`.
pub(crate) async fn sendings(
    source: &impl Owned,
    user: &UserId,
    kept: &[Kept],
    after: Option<&Reached>,
    count: usize,
) -> Result<Sendings> {
    let rows = match after {
        Some(Reached::Cold { .. }) => {
            let rest = kept.get(1..).unwrap_or_default();
            let mut rows = source.own(user, rest, None, count).await?;
            rows.iter_mut().for_each(|own| own.at += 1);
            rows
        }
        Some(Reached::Sent(sent)) => source.own(user, kept, Some(sent), count).await?,
        None => source.own(user, kept, None, count).await?,
    };
    let cut = rows.last().map(|last| last.at).filter(|_| rows.len() >= count);
    let mut rows = rows.into_iter().peekable();
    let (mut own, mut segments) = (Vec::new(), EXPORT_SEGMENTS_MAX);
    for (at, one) in kept.iter().enumerate() {
        let begun = own.len();
        while let Some(row) = rows.next_if(|row| row.at == at) {
            own.push(row);
        }
        if own.len() >= count || cut == Some(at) {
            break;
        }
        if one.cold.is_none() {
            continue;
        }
        let (above, had_own) = match after.filter(|_| at == 0) {
            Some(Reached::Cold { up_to, has_own }) => (*up_to, *has_own),
            Some(Reached::Sent(_)) => (MsgId::NONE, true),
            None => (MsgId::NONE, false),
        };
        if segments == 0 {
            return Ok(Sendings {
                end: Some((at, Reached::Cold { up_to: above, has_own: had_own || own.len() > begun })),
                own,
            });
        }
        let part = ColdPart { above, segments, count: count - own.len() };
        let cold = source.own_cold(user, one, part).await?;
        segments = segments.saturating_sub(cold.segments);
        let rows: BTreeSet<MsgId> = own.iter().skip(begun).map(|own: &Own| own.sent.msg_id).collect();
        for sent in cold.sent.into_iter().filter(|sent| !rows.contains(&sent.msg_id)) {
            own.push(Own { at, reached: Reached::Cold { up_to: sent.msg_id, has_own: true }, sent });
        }
        if own.len() >= count {
            own.truncate(count);
            break;
        }
        if let Some(up_to) = cold.up_to {
            let has_own = had_own || own.len() > begun;
            return Ok(Sendings { end: Some((at, Reached::Cold { up_to, has_own })), own });
        }
    }
    Ok(Sendings { own, end: None })
}

/// What a user has hidden in conversations.
struct HiddenThere {
    /// Each with the place of its conversation.
    ids: Vec<(usize, MsgId)>,
    /// How many of the conversations there is room for; none: for all of them.
    room: Option<usize>,
}

/// What is hidden in as many conversations as there is room for; in the first in any case.
async fn hidden(source: &impl Owned, user: &UserId, kept: &[Kept]) -> Result<HiddenThere> {
    let mut ids = source.hidden(user, kept, EXPORT_HIDDEN_MAX + 1).await?;
    let Some(cut) = ids.last().filter(|_| ids.len() > EXPORT_HIDDEN_MAX).map(|last| last.0) else {
        return Ok(HiddenThere { ids, room: None });
    };
    if cut == 0 {
        ids = source.hidden(user, kept.get(..1).unwrap_or_default(), usize::MAX).await?;
        return Ok(HiddenThere { ids, room: Some(1) });
    }
    ids.retain(|(at, _)| *at < cut);
    Ok(HiddenThere { ids, room: Some(cut) })
}

impl HiddenThere {
    /// Adds it to what else is kept; of what is hidden and has expired nothing is left to be told.
    fn add_to(self, memberships: Vec<Membership>, told: &[Kept]) -> Vec<Membership> {
        let mut hidden: HashMap<&ConversationId, Vec<MsgId>> = HashMap::new();
        for (at, msg_id) in self.ids {
            if let Some(kept) = told.get(at) {
                hidden.entry(&kept.name).or_default().push(msg_id);
            }
        }
        let with_hidden = |one: Membership| {
            let hidden = hidden.remove(&one.conversation).unwrap_or_default();
            Membership { hidden, ..one }
        };
        let all = memberships.into_iter().map(with_hidden);
        all.filter(|one| one.member.is_some() || !one.positions.is_empty() || !one.hidden.is_empty())
            .collect()
    }
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
