//! Members come, go, and change their roles.

use super::clock::Counters;
use super::conversation::json_names;
use super::index::{WIDE, tell};
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
        group.carry_out(store, &actor.tenant, change)
    })?;
    list::after_change(store, actor, conversation)
}

/// A conversation that is to change, and who wants it.
pub(super) struct Group {
    pub cid: i64,
    pub kind: ConversationKind,
    pub members: u64,
    /// Whether members are not told.
    pub wide: bool,
    /// The actor's role; none: not a member.
    pub role: Option<Role>,
}

impl Group {
    pub fn find<P: Sqlite>(store: &Embedded<P>, actor: &Actor, id: &ConversationId) -> Result<Self> {
        const STATEMENT: &str = "
            SELECT c.cid, c.kind, c.member_count, c.wide, m.role FROM conversation c
            LEFT JOIN member m ON m.cid = c.cid AND m.user = ?3
            WHERE c.tenant = ?1 AND c.name = ?2";
        let parameters = params![actor.tenant.as_str(), id.as_str(), actor.user.as_str()];
        let mut rows = store.db.execute(STATEMENT, parameters)?;
        let row = rows.first_mut().ok_or(Error::ConversationNotFound)?;
        Ok(Self {
            cid: row.int()?,
            kind: row.case(ConversationKind::from_number)?,
            members: row.count()?,
            wide: row.flag()?,
            role: row.opt_int()?.and_then(Role::from_number),
        })
    }

    /// Changes members and tells them, if anything has changed.
    fn carry_out<P: Sqlite>(
        &self,
        store: &Embedded<P>,
        tenant: &Tenant,
        change: &MemberChange,
    ) -> Result<()> {
        let mut counters = Counters::load(store)?;
        let version = counters.next_version(store.now_ms());
        let with_new = self.add(store, tenant, &change.add, version)?;
        let without_old = self.remove(store, &change.remove, with_new, version)?;
        let has_new_roles = self.set_roles(store, &change.roles)?;
        self.finish(store)?;
        if with_new != self.members || without_old != with_new || has_new_roles {
            tell(store, self.cid, version, self.wide, without_old)?;
            counters.save(store)?;
        }
        Ok(())
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

    /// Joiners start at the head: what was said before is not unread for them. Who joins again may have devices which
    /// show what was hidden meanwhile. Gives the number of members.
    fn add<P: Sqlite>(
        &self,
        store: &Embedded<P>,
        tenant: &Tenant,
        users: &[UserId],
        version: u64,
    ) -> Result<u64, SqlError> {
        const BACK: &str =
            "DELETE FROM departed WHERE cid = ?1 AND user IN (SELECT value FROM json_each(?2))";
        const STATEMENT: &str = "
            INSERT INTO member (cid, user, tenant, role, floor, read_msg_id, read_countable, recency, joined,
                hidden_version)
            SELECT c.cid, j.value, ?2, ?4, c.head_msg_id, c.head_msg_id, c.head_countable, ?5, ?6,
                iif(EXISTS (SELECT 1 FROM hidden h WHERE h.cid = c.cid AND h.user = j.value), ?6, 0)
            FROM json_each(?3) j JOIN conversation c ON c.cid = ?1
            WHERE true ON CONFLICT (cid, user) DO NOTHING";
        if users.is_empty() {
            return Ok(self.members);
        }
        let names = json_names(users);
        store.db.execute(BACK, params![self.cid, names.as_str()])?;
        let recency = if self.wide { WIDE } else { version };
        let role = Role::Member.number();
        let parameters = params![self.cid, tenant.as_str(), names, role, recency, version];
        store.db.execute(STATEMENT, parameters)?;
        self.count_changed(store, 1)
    }

    /// Positions stay: they never go back, and who joins again goes on where the device was. Gives the
    /// number of members, of whom there were `members`.
    fn remove<P: Sqlite>(
        &self,
        store: &Embedded<P>,
        users: &[UserId],
        members: u64,
        version: u64,
    ) -> Result<u64, SqlError> {
        const DEPARTED: &str = "
            INSERT INTO departed (cid, user, tenant, version)
            SELECT cid, user, tenant, ?3 FROM member
            WHERE cid = ?1 AND user IN (SELECT value FROM json_each(?2))";
        const STATEMENT: &str =
            "DELETE FROM member WHERE cid = ?1 AND user IN (SELECT value FROM json_each(?2))";
        if users.is_empty() {
            return Ok(members);
        }
        let names = json_names(users);
        store.db.execute(DEPARTED, params![self.cid, names.as_str(), version])?;
        store.db.execute(STATEMENT, params![self.cid, names])?;
        self.count_changed(store, -1)
    }

    /// Counts the members that the statement before this one has brought (`sign` 1) or taken (-1): to
    /// count them all would cost what the conversation has members.
    fn count_changed<P: Sqlite>(&self, store: &Embedded<P>, sign: i64) -> Result<u64, SqlError> {
        const STATEMENT: &str = "
            UPDATE conversation SET member_count = member_count + ?2 * changes() WHERE cid = ?1
            RETURNING member_count";
        let mut rows = store.db.execute(STATEMENT, params![self.cid, sign])?;
        rows.first_mut().map_or(Ok(0), |row| row.count())
    }

    /// Gives whether any role is another one now.
    fn set_roles<P: Sqlite>(&self, store: &Embedded<P>, roles: &[(UserId, Role)]) -> Result<bool> {
        const PRESENT: &str = "SELECT role FROM member WHERE cid = ?1 AND user = ?2";
        const STATEMENT: &str = "UPDATE member SET role = ?3 WHERE cid = ?1 AND user = ?2";
        let mut has_changed = false;
        for (user, role) in roles {
            let mut rows = store.db.execute(PRESENT, params![self.cid, user.as_str()])?;
            let stranger = || Error::invalid("roles", format!("{user} is not a member"));
            if rows.first_mut().ok_or_else(stranger)?.int()? != role.number() {
                store.db.execute(STATEMENT, params![self.cid, user.as_str(), role.number()])?;
                has_changed = true;
            }
        }
        Ok(has_changed)
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
