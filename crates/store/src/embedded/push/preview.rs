//! What a push may show.

use super::lease::Leased;
use super::waiting::{SCANNED_MAX, Waiting};
use crate::embedded::cold::{Cold, waits_for};
use crate::embedded::hide::is_hidden;
use crate::embedded::{Embedded, messages};
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::limits::PUSH_PREVIEW_MAX;
use im_domain::message::{Message, Status};
use im_domain::page::Direction;
use im_domain::push::Due;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result, Tenant, UserId};
use im_segment::Record;
use std::cmp::Reverse;

/// Tells of a user who was leased.
pub(super) fn show<P: Sqlite>(store: &Embedded<P>, tenant: &Tenant, leased: Leased) -> Result<Due> {
    let Leased { lease_id, user, show_content, mut waiting } = leased;
    waiting.sort_by_key(|one| Reverse(one.head.place()));
    let preview = match show_content {
        true => Some(preview(store, tenant, &user, &waiting)?),
        false => None,
    };
    Ok(Due {
        lease_id,
        user,
        messages: waiting.iter().map(|one| one.messages).sum(),
        conversations: waiting.len() as u64,
        oldest_time_ms: waiting.iter().map(|one| one.oldest_ms).min().unwrap_or_default(),
        preview,
    })
}

/// The newest of what waits. Conversations come by their newest messages: once enough are found, those
/// whose head is older have none to add.
fn preview<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    user: &UserId,
    waiting: &[Waiting],
) -> Result<Vec<(ConversationId, Message)>> {
    let actor = Actor { tenant: tenant.clone(), user: user.clone(), privileged: false };
    let mut shown: Vec<(ConversationId, Message)> = Vec::new();
    for one in waiting {
        let last = shown.get(PUSH_PREVIEW_MAX - 1);
        if last.is_some_and(|(_, message)| message.msg_id.place() > one.head.place()) {
            break;
        }
        let found = newest(store, &actor, one)?;
        shown.extend(found.into_iter().map(|message| (one.conversation.clone(), message)));
        shown.sort_by_key(|(_, message)| Reverse(message.msg_id.place()));
        shown.truncate(PUSH_PREVIEW_MAX);
    }
    Ok(shown)
}

/// The newest messages that wait in a conversation, as the user may read them now; none of those under
/// more than [`SCANNED_MAX`] of the user's own.
fn newest<P: Sqlite>(store: &Embedded<P>, actor: &Actor, one: &Waiting) -> Result<Vec<Message>> {
    let statement = format!(
        "SELECT msg_id FROM (
            SELECT cid, msg_id, sender, own, status FROM message WHERE cid = ?1 AND msg_id > ?2
            ORDER BY msg_id DESC LIMIT ?4) x
        WHERE own IS NOT NULL AND sender <> ?3 AND status = ?6 AND NOT {} ORDER BY msg_id DESC LIMIT ?5",
        is_hidden("x", "?3")
    );
    let parameters = params![
        one.cid,
        one.after,
        actor.user.as_str(),
        SCANNED_MAX,
        PUSH_PREVIEW_MAX as u64,
        Status::Normal.number(),
    ];
    let ids: Vec<MsgId> = match one.begins_in_cold {
        true => {
            let cold = Cold { store, cid: one.cid };
            let last = cold.scan(one.after, Direction::Up, SCANNED_MAX as usize)?;
            let hidden = cold.hidden(actor.user.as_str())?;
            let waits =
                |record: &&Record| waits_for(record, actor.user.as_str()) && !hidden.contains(&record.msg_id);
            last.iter().filter(waits).map(|record| record.msg_id).take(PUSH_PREVIEW_MAX).collect()
        }
        false => {
            let rows = store.db.execute(&statement, parameters)?;
            rows.into_iter().map(|mut row| row.msg_id()).collect::<Result<_, _>>()?
        }
    };
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    match messages::get(store, actor, &one.conversation, &ids) {
        Ok(found) => Ok(found.messages.into_iter().filter(|one| one.status == Status::Normal).collect()),
        // Left meanwhile.
        Err(Error::NotMember | Error::ConversationNotFound) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
