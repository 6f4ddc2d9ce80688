//! What a message was before, for audit.

use super::cold::Cold;
use super::{Embedded, transaction};
use crate::params;
use crate::sql::Row;
use crate::sqlite::Sqlite;
use crate::version_row::{AUDITED, packed, unprivileged};
use im_domain::revision::Version;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result};

/// That it was asked is on disk before the answer leaves.
pub(super) fn versions<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    conversation: &ConversationId,
    msg_id: MsgId,
) -> Result<Vec<Version>> {
    if !actor.privileged {
        return Err(unprivileged());
    }
    transaction::write_flushed(store, || {
        let cid = find(store, actor, conversation)?;
        let versions = crate::version_row::versions(rows(store, cid, msg_id)?)?;
        note(store, actor, conversation, msg_id)?;
        Ok(versions)
    })
}

fn find<P: Sqlite>(store: &Embedded<P>, actor: &Actor, conversation: &ConversationId) -> Result<i64> {
    const STATEMENT: &str = "SELECT cid FROM conversation WHERE tenant = ?1 AND name = ?2";
    let parameters = params![actor.tenant.as_str(), conversation.as_str()];
    let mut rows = store.db.execute(STATEMENT, parameters)?;
    Ok(rows.first_mut().ok_or(Error::ConversationNotFound)?.int()?)
}

/// The revisions of a message that has not expired, and then the message.
fn rows<P: Sqlite>(store: &Embedded<P>, cid: i64, msg_id: MsgId) -> Result<Vec<Row>> {
    const STATEMENT: &str = "
        SELECT action, control_msg_id, user, role, CAST(reason AS BLOB), content FROM (
            SELECT number, action, control_msg_id, user, role, reason, content FROM revision
            WHERE cid = ?1 AND msg_id = ?2
            UNION ALL
            SELECT 9223372036854775807, 0, msg_id, sender, kind, '', content FROM message
            WHERE cid = ?1 AND msg_id = ?2 AND msg_id > ?3)
        ORDER BY number";
    const PACKED: &str = "SELECT 1 FROM conversation WHERE cid = ?1 AND cold_msg_id >= ?2";
    let expired = store.expired_up_to();
    let mut rows = store.db.execute(STATEMENT, params![cid, msg_id, expired])?;
    if !store.db.execute(PACKED, params![cid, msg_id])?.is_empty() && msg_id > expired {
        rows.extend(Cold { store, cid }.find_one(msg_id)?.map(packed));
    }
    Ok(rows)
}

fn note<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    conversation: &ConversationId,
    msg_id: MsgId,
) -> Result<()> {
    const STATEMENT: &str = "
        INSERT INTO audit (tenant, user, time, action, conversation, msg_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let parameters = params![
        actor.tenant.as_str(),
        actor.user.as_str(),
        store.now_ms(),
        AUDITED,
        conversation.as_str(),
        msg_id,
    ];
    store.db.execute(STATEMENT, parameters)?;
    Ok(())
}
