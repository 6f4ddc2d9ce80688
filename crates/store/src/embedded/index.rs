//! Each user's index of conversations: in which order they are listed, and what has changed since when.
//!
//! Members of a conversation are told, each in a row of their own, when something is said in it
//! (`recency`) or changes about it (`other`). Of a wide one, which has more members than
//! `index_members_max`, nobody is told: whoever asks looks it up.

use super::Embedded;
use crate::params;
use crate::sql::SqlError;
use crate::sqlite::Sqlite;
use im_domain::Result;

/// The recency of wide conversations: they come in a user's index after all others.
pub(super) const WIDE: u64 = i64::MAX as u64;

/// Whether a conversation with so many members is wide.
pub(super) fn is_wide<P: Sqlite>(store: &Embedded<P>, members: u64) -> bool {
    members > store.environment.index_members_max
}

/// Tells the members of a conversation that it changed about its members or settings at `version`. It
/// becomes wide, or ceases to be, as the number of its members wants it.
pub(super) fn tell<P: Sqlite>(
    store: &Embedded<P>,
    cid: i64,
    version: u64,
    was_wide: bool,
    members: u64,
) -> Result<(), SqlError> {
    const CONVERSATION: &str = "UPDATE conversation SET membership_version = ?2, wide = ?3 WHERE cid = ?1";
    const EACH: &str = "UPDATE member SET other = ?2 WHERE cid = ?1";
    const NARROWED: &str = "
        UPDATE member SET other = ?2, recency = max(c.version, member.joined)
        FROM conversation c WHERE c.cid = ?1 AND member.cid = ?1";
    const WIDENED: &str = "UPDATE member SET recency = ?2 WHERE cid = ?1";
    let wide = is_wide(store, members);
    store.db.execute(CONVERSATION, params![cid, version, wide])?;
    match (was_wide, wide) {
        (false, false) => store.db.execute(EACH, params![cid, version])?,
        (true, false) => store.db.execute(NARROWED, params![cid, version])?,
        (false, true) => store.db.execute(WIDENED, params![cid, WIDE])?,
        (true, true) => Vec::new(),
    };
    Ok(())
}

/// Marks the conversations that are wide in a store that was made before there were any.
pub(super) fn widen<P: Sqlite>(store: &Embedded<P>) -> Result<(), SqlError> {
    let mark = "UPDATE conversation SET wide = 1 WHERE member_count > ?1";
    store.db.execute(mark, params![store.environment.index_members_max])?;
    let look_up = "UPDATE member SET recency = ?1 WHERE cid IN (SELECT cid FROM conversation WHERE wide = 1)";
    store.db.execute(look_up, params![WIDE]).map(|_| ())
}
