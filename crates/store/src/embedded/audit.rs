//! Who did what an audit asks for.

use super::Embedded;
use crate::params;
use crate::sql::SqlError;
use crate::sqlite::Sqlite;
use im_domain::storage::Actor;
use im_domain::{ConversationId, MsgId};

/// Notes it in the transaction that is under way. `msg_id`: none: it is about the conversation.
pub(super) fn note<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    action: &str,
    conversation: &ConversationId,
    msg_id: MsgId,
) -> Result<(), SqlError> {
    const STATEMENT: &str = "
        INSERT INTO audit (tenant, user, time, action, conversation, msg_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let parameters = params![
        actor.tenant.as_str(),
        actor.user.as_str(),
        store.now_ms(),
        action,
        conversation.as_str(),
        msg_id,
    ];
    store.db.execute(STATEMENT, parameters).map(|_| ())
}
