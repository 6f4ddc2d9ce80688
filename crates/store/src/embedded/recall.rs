//! Messages are taken back.
//!
//! The text goes from the message and stays in the trace. The message keeps its place among those that
//! count, so that what was counted before stays right; what is unread is less by those that were taken back.

use super::clock::Counters;
use super::head::{Head, NewMessage};
use super::{Embedded, transaction};
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::conversation::{ConversationKind, Role};
use im_domain::message::{Action, ControlRef, FINGERPRINT_BYTES, Kind, Status};
use im_domain::partition::partition_of;
use im_domain::revision::{Recall, Revised};
use im_domain::storage::Actor;
use im_domain::{Error, MsgId, Result};

/// As whom the trace names who took a message back; else the number of a [`Role`].
const BY_PRIVILEGED: i64 = 0;
const BY_SENDER: i64 = 3;

/// The answer is flushed to disk: no loss of power brings the text back.
pub(super) fn recall<P: Sqlite>(store: &Embedded<P>, actor: &Actor, recall: &Recall) -> Result<Revised> {
    recall.check()?;
    transaction::write_flushed(store, || {
        let state = State::find(store, actor, recall)?;
        let target = state.target(actor)?;
        if let Some((control_msg_id, seq)) = target.control {
            return Ok(Revised { msg_id: recall.msg_id, control_msg_id, seq });
        }
        let by = state.may_recall(store, actor, recall, target)?;
        state.carry_out(store, actor, recall, by)
    })
}

/// What the database knows before a message is taken back.
struct State {
    head: Head,
    counters: Counters,
    kind: ConversationKind,
    /// The actor's role; none: not a member.
    role: Option<Role>,
    /// The message, if the actor may see it.
    target: Option<Target>,
}

struct Target {
    sender: String,
    kind: Kind,
    /// Id and `seq` of the control message, if it was taken back.
    control: Option<(MsgId, u64)>,
}

impl State {
    fn find<P: Sqlite>(store: &Embedded<P>, actor: &Actor, recall: &Recall) -> Result<Self> {
        let parameters = params![
            actor.tenant.as_str(),
            recall.conversation.as_str(),
            actor.user.as_str(),
            store.expired_up_to(),
            recall.msg_id,
            Action::Recall.number(),
        ];
        let mut rows = store.db.execute(&statement(), parameters)?;
        Ok(Self::read(rows.first_mut().ok_or(Error::ConversationNotFound)?)?)
    }

    fn read(row: &mut Row) -> Result<Self, SqlError> {
        Ok(Self {
            head: Head::read(row)?,
            counters: Counters::read(row)?,
            kind: row.case(ConversationKind::from_number)?,
            role: row.opt_int()?.and_then(Role::from_number),
            target: Target::read(row)?,
        })
    }

    fn target(&self, actor: &Actor) -> Result<&Target> {
        if self.role.is_none() && !actor.privileged {
            return Err(Error::NotMember);
        }
        self.target.as_ref().ok_or_else(|| Error::MessageNotFound { field: "msgId".into() })
    }

    /// Gives as whom the actor may do it.
    fn may_recall<P: Sqlite>(
        &self,
        store: &Embedded<P>,
        actor: &Actor,
        recall: &Recall,
        target: &Target,
    ) -> Result<i64> {
        if target.kind == Kind::Recall {
            return Err(Error::invalid("msgId", "a control message cannot be taken back"));
        }
        if actor.privileged {
            return Ok(BY_PRIVILEGED);
        }
        let manager = self.role.filter(|role| role.manages() && self.kind == ConversationKind::Group);
        if let Some(role) = manager {
            return Ok(role.number());
        }
        if target.sender != actor.user.as_str() {
            return Err(Error::forbidden("only an owner or an administrator takes back what others said"));
        }
        let window_ms = store.environment.recall_ms.of(&actor.tenant);
        if recall.msg_id < MsgId::floor_of(store.now_ms().saturating_sub(window_ms)) {
            return Err(Error::forbidden("the time in which it could be taken back has passed"));
        }
        Ok(BY_SENDER)
    }

    fn carry_out<P: Sqlite>(
        mut self,
        store: &Embedded<P>,
        actor: &Actor,
        recall: &Recall,
        by: i64,
    ) -> Result<Revised> {
        let partition = partition_of(&actor.tenant, &recall.conversation);
        let control = ControlRef { msg_id: recall.msg_id, action: Action::Recall };
        let message = NewMessage {
            sender: actor.user.as_str(),
            client_msg_id: &format!("{}:{}", control.action.as_str(), control.msg_id),
            fingerprint: [0; FINGERPRINT_BYTES],
            kind: Kind::Recall,
            content: Vec::new(),
            reply_to: None,
            ext: None,
            control: Some(control),
            own: None,
        };
        let control_msg_id = self.head.put(store, &mut self.counters, partition, message)?;
        self.trace(store, actor, recall, control_msg_id, by)?;
        self.hide(store, recall.msg_id)?;
        self.head.save(store)?;
        self.counters.save(store)?;
        Ok(Revised { msg_id: recall.msg_id, control_msg_id, seq: self.head.seq })
    }

    fn trace<P: Sqlite>(
        &self,
        store: &Embedded<P>,
        actor: &Actor,
        recall: &Recall,
        control_msg_id: MsgId,
        by: i64,
    ) -> Result<(), SqlError> {
        const STATEMENT: &str = "
            INSERT INTO revision (cid, msg_id, number, action, control_msg_id, sender, uncounted, user, role,
                time, reason, content, ext)
            SELECT cid, msg_id, 1 + (SELECT count(*) FROM revision WHERE cid = ?1 AND msg_id = ?2), ?3, ?4,
                sender, own IS NOT NULL, ?5, ?6, ?7, ?8, content, ext
            FROM message WHERE cid = ?1 AND msg_id = ?2";
        let parameters = params![
            self.head.cid,
            recall.msg_id,
            Action::Recall.number(),
            control_msg_id,
            actor.user.as_str(),
            by,
            store.now_ms(),
            recall.reason.as_deref().unwrap_or_default(),
        ];
        store.db.execute(STATEMENT, parameters).map(|_| ())
    }

    fn hide<P: Sqlite>(&self, store: &Embedded<P>, msg_id: MsgId) -> Result<(), SqlError> {
        const MESSAGE: &str = "
            UPDATE message SET status = ?3, content = x'', ext = NULL WHERE cid = ?1 AND msg_id = ?2";
        const CONVERSATION: &str = "UPDATE conversation SET revision_version = ?2 WHERE cid = ?1";
        store.db.execute(MESSAGE, params![self.head.cid, msg_id, Status::Recalled.number()])?;
        store.db.execute(CONVERSATION, params![self.head.cid, self.head.version]).map(|_| ())
    }
}

impl Target {
    fn read(row: &mut Row) -> Result<Option<Self>, SqlError> {
        let Some(sender) = row.opt_text()? else { return Ok(None) };
        let kind = row.case(Kind::from_number)?;
        let control_msg_id = row.opt_msg_id()?;
        let seq = row.opt_int()?.and_then(|seq| u64::try_from(seq).ok());
        Ok(Some(Self { sender, kind, control: control_msg_id.zip(seq) }))
    }
}

/// ?4: the newest id that has expired; ?5: the message; ?6: the number of the action. `history = 1` is
/// `from_join`.
fn statement() -> String {
    format!(
        "SELECT {}, {}, c.kind, m.role, x.sender, x.kind, told.msg_id, told.seq
        FROM conversation c JOIN store s ON s.id = 1
        LEFT JOIN member m ON m.cid = c.cid AND m.user = ?3
        LEFT JOIN message x ON x.cid = c.cid AND x.msg_id = ?5
            AND x.msg_id > max(?4, iif(c.history = 1, coalesce(m.floor, 0), 0))
        LEFT JOIN revision r ON r.cid = x.cid AND r.msg_id = x.msg_id AND r.action = ?6
        LEFT JOIN message told ON told.cid = r.cid AND told.msg_id = r.control_msg_id
        WHERE c.tenant = ?1 AND c.name = ?2",
        Head::COLUMNS,
        Counters::COLUMNS
    )
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use crate::embedded::testing::{assert_searches, plan};

    #[test]
    fn a_message_is_found_by_searches() {
        assert_searches(&plan(&super::statement(), 6), &[]);
    }
}
