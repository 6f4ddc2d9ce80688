//! What a message was before, for audit.

use super::audit::note;
use super::cold::Cold;
use super::retention::{expired_up_to, times};
use super::{Embedded, transaction};
use crate::audit::{Deed, VERSIONS};
use crate::params;
use crate::sql::Row;
use crate::sqlite::Sqlite;
use crate::version_row::{packed, unprivileged};
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
        let versions = crate::version_row::versions(rows(store, actor, cid, msg_id)?)?;
        note(store, actor, Deed::to_message(VERSIONS, conversation, msg_id))?;
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
fn rows<P: Sqlite>(store: &Embedded<P>, actor: &Actor, cid: i64, msg_id: MsgId) -> Result<Vec<Row>> {
    const STATEMENT: &str = concat!(
        "
        SELECT action, control_msg_id, user, role, CAST(reason AS BLOB), content FROM (
            SELECT number, action, control_msg_id, user, role, reason, content FROM revision
            WHERE cid = ?1 AND msg_id = ?2
            UNION ALL
            SELECT 9223372036854775807, 0, x.msg_id, x.sender, x.kind, '', x.content
            FROM message x JOIN conversation c ON c.cid = x.cid
            WHERE x.cid = ?1 AND x.msg_id = ?2 AND x.msg_id > ",
        expired_up_to!("?3"),
        ") ORDER BY number"
    );
    const PACKED: &str = concat!(
        "SELECT 1 FROM conversation c WHERE c.cid = ?1 AND c.cold_msg_id >= ?2 AND ?2 > ",
        expired_up_to!("?3")
    );
    let parameters = || params![cid, msg_id, times(store, &actor.tenant)];
    let mut rows = store.db.execute(STATEMENT, parameters())?;
    if !store.db.execute(PACKED, parameters())?.is_empty() {
        rows.extend(Cold { store, cid }.find_one(msg_id)?.map(packed));
    }
    Ok(rows)
}
