//! Who did what an audit asks for.

use super::Embedded;
use crate::audit::Deed;
use crate::params;
use crate::sql::SqlError;
use crate::sqlite::Sqlite;
use im_domain::storage::Actor;

/// Notes it in the transaction that is under way.
pub(super) fn note<P: Sqlite>(store: &Embedded<P>, actor: &Actor, deed: Deed<'_>) -> Result<(), SqlError> {
    const STATEMENT: &str = "
        INSERT INTO audit (tenant, user, time, action, conversation, msg_id, subject)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let parameters = params![
        actor.tenant.as_str(),
        actor.user.as_str(),
        store.now_ms(),
        deed.action,
        deed.conversation,
        deed.msg_id,
        deed.subject,
    ];
    store.db.execute(STATEMENT, parameters).map(|_| ())
}
