//! Notes of who looked at what only administrators may see.

use super::Embedded;
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::storage::Actor;
use im_domain::{MsgId, Result};

/// What was looked at.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub action: &'a str,
    /// "": none alone.
    pub conversation: &'a str,
    pub msg_id: MsgId,
    /// The user it was about; "": none.
    pub subject: &'a str,
}

pub(super) fn note<P: Sqlite>(store: &Embedded<P>, actor: &Actor, look: Look<'_>) -> Result<()> {
    const STATEMENT: &str = "
        INSERT INTO audit (tenant, user, time, action, conversation, msg_id, subject)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let parameters = params![
        actor.tenant.as_str(),
        actor.user.as_str(),
        store.now_ms(),
        look.action,
        look.conversation,
        look.msg_id,
        look.subject,
    ];
    store.db.execute(STATEMENT, parameters)?;
    Ok(())
}
