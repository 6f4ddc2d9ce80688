//! Members come, go, and change their roles.

use super::conversation::json_names;
use super::{Embedded, list, transaction};
use crate::params;
use crate::sql::SqlError;
use crate::sqlite::Sqlite;
use im_domain::conversation::{Conversation, ConversationKind, MemberChange, Role};
use im_domain::limits::MEMBERS_MAX;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, Result, Tenant, UserId};

pub(super) fn change<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    conversation: &ConversationId,
    change: &MemberChange,
) -> Result<Conversation> {
    change.check()?;
    transaction::write(store, || {
        let group = Group::find(store, actor, conversation)?;
        group.check(store, actor, change)?;
        group.add(store, &actor.tenant, &change.add)?;
        group.remove(store, &change.remove)?;
        group.set_roles(store, &change.roles)?;
        group.finish(store)
    })?;
    list::after_change(store, actor, conversation)
}

/// A conversation whose members are to change.
struct Group {
    cid: i64,
    kind: ConversationKind,
    /// The actor's role; none: not a member.
    role: Option<Role>,
}

impl Group {
    fn find<P: Sqlite>(store: &Embedded<P>, actor: &Actor, id: &ConversationId) -> Result<Self> {
        const STATEMENT: &str = "
            SELECT c.cid, c.kind, m.role FROM conversation c
            LEFT JOIN member m ON m.cid = c.cid AND m.user = ?3
            WHERE c.tenant = ?1 AND c.name = ?2";
        let parameters = params![actor.tenant.as_str(), id.as_str(), actor.user.as_str()];
        let mut rows = store.db.execute(STATEMENT, parameters)?;
        let row = rows.first_mut().ok_or(Error::ConversationNotFound)?;
        Ok(Self {
            cid: row.int()?,
            kind: row.case(ConversationKind::from_number)?,
            role: row.opt_int()?.and_then(Role::from_number),
        })
    }

    fn check<P: Sqlite>(&self, store: &Embedded<P>, actor: &Actor, change: &MemberChange) -> Result<()> {
        if self.role.is_none() && !actor.privileged {
            return Err(Error::NotMember);
        }
        if self.kind == ConversationKind::Single {
            return Err(Error::invalid("conversationId", "the members of a single chat do not change"));
        }
        if actor.privileged || self.role == Some(Role::Owner) {
            return Ok(());
        }
        if !change.roles.is_empty() {
            return Err(Error::forbidden("only an owner changes roles"));
        }
        if change.add.is_empty() && change.remove.iter().all(|user| *user == actor.user) {
            return Ok(());
        }
        if !self.role.is_some_and(Role::manages) {
            return Err(Error::forbidden("only an owner or an administrator changes members"));
        }
        self.spare_owners(store, &change.remove)
    }

    fn spare_owners<P: Sqlite>(&self, store: &Embedded<P>, removed: &[UserId]) -> Result<()> {
        const STATEMENT: &str = "
            SELECT 1 FROM member WHERE cid = ?1 AND role = ?3 AND user IN (SELECT value FROM json_each(?2))
            LIMIT 1";
        let parameters = params![self.cid, json_names(removed), Role::Owner.number()];
        if store.db.execute(STATEMENT, parameters)?.is_empty() {
            return Ok(());
        }
        Err(Error::forbidden("only an owner removes an owner"))
    }

    /// Joiners start at the head: what was said before is not unread for them.
    fn add<P: Sqlite>(&self, store: &Embedded<P>, tenant: &Tenant, users: &[UserId]) -> Result<(), SqlError> {
        const STATEMENT: &str = "
            INSERT INTO member (cid, user, tenant, role, floor, read_msg_id, read_countable)
            SELECT c.cid, j.value, ?2, ?4, c.head_msg_id, c.head_msg_id, c.head_countable
            FROM json_each(?3) j JOIN conversation c ON c.cid = ?1
            WHERE true ON CONFLICT (cid, user) DO NOTHING";
        if users.is_empty() {
            return Ok(());
        }
        let parameters = params![self.cid, tenant.as_str(), json_names(users), Role::Member.number()];
        store.db.execute(STATEMENT, parameters)?;
        self.count_changed(store, 1)
    }

    /// Positions stay: they never go back, and who joins again goes on where the device was.
    fn remove<P: Sqlite>(&self, store: &Embedded<P>, users: &[UserId]) -> Result<(), SqlError> {
        if users.is_empty() {
            return Ok(());
        }
        const STATEMENT: &str =
            "DELETE FROM member WHERE cid = ?1 AND user IN (SELECT value FROM json_each(?2))";
        store.db.execute(STATEMENT, params![self.cid, json_names(users)])?;
        self.count_changed(store, -1)
    }

    /// Counts the members that the statement before this one has brought (`sign` 1) or taken (-1): to
    /// count them all would cost what the conversation has members.
    fn count_changed<P: Sqlite>(&self, store: &Embedded<P>, sign: i64) -> Result<(), SqlError> {
        const STATEMENT: &str =
            "UPDATE conversation SET member_count = member_count + ?2 * changes() WHERE cid = ?1";
        store.db.execute(STATEMENT, params![self.cid, sign]).map(|_| ())
    }

    fn set_roles<P: Sqlite>(&self, store: &Embedded<P>, roles: &[(UserId, Role)]) -> Result<()> {
        const STATEMENT: &str = "UPDATE member SET role = ?3 WHERE cid = ?1 AND user = ?2 RETURNING user";
        for (user, role) in roles {
            let parameters = params![self.cid, user.as_str(), role.number()];
            if store.db.execute(STATEMENT, parameters)?.is_empty() {
                return Err(Error::invalid("roles", format!("{user} is not a member")));
            }
        }
        Ok(())
    }

    fn finish<P: Sqlite>(&self, store: &Embedded<P>) -> Result<()> {
        const STATEMENT: &str =
            "UPDATE conversation SET update_time = ?2 WHERE cid = ?1 RETURNING member_count";
        let mut rows = store.db.execute(STATEMENT, params![self.cid, store.now_ms()])?;
        let count = rows.first_mut().map_or(Ok(0), |row| row.count())?;
        if count > MEMBERS_MAX as u64 {
            let reason = format!("a conversation has at most {MEMBERS_MAX} members");
            return Err(Error::invalid("add", reason));
        }
        Ok(())
    }
}
