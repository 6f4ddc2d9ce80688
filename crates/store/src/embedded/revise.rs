//! Messages are recalled, edited and deleted.
//!
//! What a message said goes from it and stays in the trace. One that was recalled or deleted keeps its place
//! among those that count, so that what was counted before stays right; what is unread is less by those.

use super::clock::Counters;
use super::cold::Cold;
use super::head::{Head, NewMessage};
use super::retention::{expired_up_to, times};
use super::{Embedded, transaction};
use crate::params;
use crate::sql::{Row, SqlError, Value};
use crate::sqlite::Sqlite;
use im_domain::conversation::{ConversationKind, Role};
use im_domain::limits::EDITS_MAX;
use im_domain::message::{Action, FINGERPRINT_BYTES, Kind, Status};
use im_domain::partition::partition_of;
use im_domain::revision::{Capacity, Change, Refusal, Revised, Revision, Told, control_name};
use im_domain::storage::Actor;
use im_domain::{Error, MsgId, Result};
use im_segment::Record;

/// The answer is flushed to disk: no loss of power brings the former text back.
pub(super) fn revise<P: Sqlite>(store: &Embedded<P>, actor: &Actor, revision: &Revision) -> Result<Revised> {
    revision.check()?;
    transaction::write_flushed(store, || {
        let state = State::find(store, actor, revision)?;
        match state.judge(store, actor, revision)? {
            Verdict::Done(told) => Ok(Revised { msg_id: revision.msg_id, told }),
            Verdict::Allowed(by) => state.carry_out(store, actor, revision, by),
        }
    })
}

enum Verdict {
    /// It is so already.
    Done(Option<Told>),
    /// The actor may do so, as whom.
    Allowed(Capacity),
}

/// What the database knows before a message is revised.
struct State {
    head: Head,
    counters: Counters,
    kind: ConversationKind,
    /// The actor's role; none: not a member.
    role: Option<Role>,
    /// The message, if the actor may see it.
    target: Option<Target>,
    /// It, where it is in a segment.
    packed: Option<Record>,
}

struct Target {
    sender: String,
    kind: Kind,
    status: Status,
    /// Whether an edit would give it the content that it has.
    is_same: bool,
    traced: Traced,
}

/// What was done to a message so far.
struct Traced {
    /// How many revisions.
    revisions: u64,
    /// The control message of the last one.
    told: Option<Told>,
}

impl State {
    fn find<P: Sqlite>(store: &Embedded<P>, actor: &Actor, revision: &Revision) -> Result<Self> {
        let id = revision.msg_id;
        let parameters = params![
            actor.tenant.as_str(),
            revision.conversation.as_str(),
            actor.user.as_str(),
            times(store, &actor.tenant),
            id,
            revision.change.content().as_bytes(),
        ];
        let mut rows = store.db.execute(&statement(), parameters)?;
        let row = rows.first_mut().ok_or(Error::ConversationNotFound)?;
        let (head, counters) = (Head::read(row)?, Counters::read(row)?);
        let kind = row.case(ConversationKind::from_number)?;
        let role = row.opt_int()?.and_then(Role::from_number);
        let (end, floor) = (row.msg_id()?, row.msg_id()?);
        let cold = Cold { store, cid: head.cid };
        let traced = Traced::read(&cold, row)?;
        let packed = if id > floor && id <= end { cold.find_one(id)? } else { None };
        let target = match &packed {
            Some(record) => Some(Target::packed(record, revision, traced)?),
            None => Target::read(row, traced)?,
        };
        Ok(Self { head, counters, kind, role, target, packed })
    }

    fn judge<P: Sqlite>(&self, store: &Embedded<P>, actor: &Actor, revision: &Revision) -> Result<Verdict> {
        if self.role.is_none() && !actor.privileged {
            return Err(Error::NotMember);
        }
        let missing = || Error::MessageNotFound { field: "msgId".into() };
        let target = self.target.as_ref().ok_or_else(missing)?;
        let action = revision.change.action();
        if target.kind == Kind::Recall {
            return Err(Refusal::Control.into());
        }
        if target.status != Status::Normal {
            return match target.status == action.status() {
                true => Ok(Verdict::Done(target.traced.told)),
                false => Err(Refusal::Final.into()),
            };
        }
        if let Some(by) = self.rules(actor).filter(|_| action != Action::Edit) {
            return Ok(Verdict::Allowed(by));
        }
        if target.sender != actor.user.as_str() {
            return Err(Refusal::Others(action).into());
        }
        if action == Action::Edit && target.is_same {
            return Ok(Verdict::Done(target.traced.told));
        }
        if revision.msg_id < store.environment.revision.from(&actor.tenant, action, store.now_ms()) {
            return Err(Refusal::Late(action).into());
        }
        if action == Action::Edit && target.traced.revisions >= EDITS_MAX as u64 {
            return Err(Refusal::Edits.into());
        }
        Ok(Verdict::Allowed(Capacity::Sender))
    }

    /// As whom the actor may recall and delete what others said.
    fn rules(&self, actor: &Actor) -> Option<Capacity> {
        if actor.privileged {
            return Some(Capacity::Operator);
        }
        match self.role.filter(|_| self.kind == ConversationKind::Group)? {
            Role::Owner => Some(Capacity::Owner),
            Role::Admin => Some(Capacity::Admin),
            Role::Member => None,
        }
    }

    fn carry_out<P: Sqlite>(
        mut self,
        store: &Embedded<P>,
        actor: &Actor,
        revision: &Revision,
        by: Capacity,
    ) -> Result<Revised> {
        let partition = partition_of(&actor.tenant, &revision.conversation);
        let message = NewMessage {
            sender: actor.user.as_str(),
            client_msg_id: &control_name(revision.control(), &store.random_name()),
            fingerprint: [0; FINGERPRINT_BYTES],
            kind: Kind::Recall,
            content: Vec::new(),
            reply_to: None,
            ext: None,
            control: Some(revision.control()),
            own: None,
        };
        let control = self.head.put(store, &mut self.counters, partition, message)?;
        self.trace(store, actor, revision, control, by)?;
        self.change(store, revision, control)?;
        self.head.save(store)?;
        self.counters.save(store)?;
        let told = Some(Told { msg_id: control, seq: self.head.seq });
        Ok(Revised { msg_id: revision.msg_id, told })
    }

    fn trace<P: Sqlite>(
        &self,
        store: &Embedded<P>,
        actor: &Actor,
        revision: &Revision,
        control: MsgId,
        by: Capacity,
    ) -> Result<(), SqlError> {
        const STATEMENT: &str = "
            INSERT INTO revision (cid, msg_id, number, action, control_msg_id, sender, uncounted, user, role,
                time, reason, content, ext)
            SELECT ?1, ?2, 1 + (SELECT count(*) FROM revision WHERE cid = ?1 AND msg_id = ?2), ?3, ?4,
                sender, own IS NOT NULL AND ?9, ?5, ?6, ?7, ?8, content, ext
            FROM (SELECT sender, own, content, ext FROM message WHERE cid = ?1 AND msg_id = ?2
                UNION ALL SELECT ?10, ?11, ?12, ?13 WHERE ?10 IS NOT NULL)";
        let action = revision.change.action();
        let packed = self.packed.as_ref();
        let parameters = params![
            self.head.cid,
            revision.msg_id,
            action.number(),
            control,
            actor.user.as_str(),
            by.number(),
            store.now_ms(),
            revision.reason.as_deref().unwrap_or_default(),
            action != Action::Edit,
            packed.map(|record| record.sender.as_str()),
            packed.and_then(|record| record.own),
            packed.map(|record| record.content.as_slice()),
            packed.and_then(|record| record.ext.clone()),
        ];
        store.db.execute(STATEMENT, parameters).map(|_| ())
    }

    /// Makes the message what it has become.
    fn change<P: Sqlite>(&self, store: &Embedded<P>, revision: &Revision, control: MsgId) -> Result<()> {
        const EDITED: &str = "UPDATE message SET content = ?3, edit_time = ?4 WHERE cid = ?1 AND msg_id = ?2";
        const GONE: &str = "
            UPDATE message SET status = ?3, content = x'', ext = NULL, edit_time = NULL
            WHERE cid = ?1 AND msg_id = ?2";
        let (cid, msg_id) = (self.head.cid, revision.msg_id);
        match &revision.change {
            change if self.packed.is_some() => {
                Cold { store, cid }.change(msg_id, |record| revise_packed(record, change, control))?;
            }
            Change::Edit { content } => {
                let content = Value::Blob(content.clone().into_bytes());
                store.db.execute(EDITED, params![cid, msg_id, content, control.time_ms()])?;
            }
            Change::Recall | Change::Delete => {
                let status = revision.change.action().status();
                store.db.execute(GONE, params![cid, msg_id, status.number()])?;
            }
        }
        Ok(())
    }
}

fn revise_packed(record: &mut Record, change: &Change, control: MsgId) {
    match change {
        Change::Edit { content } => {
            record.content = content.clone().into_bytes();
            record.edit_time = Some(control.time_ms());
        }
        Change::Recall | Change::Delete => {
            record.status = i16::try_from(change.action().status().number()).unwrap_or_default();
            record.content = Vec::new();
            (record.ext, record.edit_time) = (None, None);
        }
    }
}

impl Target {
    fn read(row: &mut Row, traced: Traced) -> Result<Option<Self>, SqlError> {
        let Some(sender) = row.opt_text()? else { return Ok(None) };
        let (kind, status) = (row.case(Kind::from_number)?, row.case(Status::from_number)?);
        Ok(Some(Self { sender, kind, status, is_same: row.flag()?, traced }))
    }

    /// Of a message that is in a segment.
    fn packed(record: &Record, revision: &Revision, traced: Traced) -> Result<Self> {
        let unknown = || Error::internal("a number of a cold message stands for nothing known");
        Ok(Self {
            sender: record.sender.clone(),
            kind: Kind::from_number(record.kind.into()).ok_or_else(unknown)?,
            status: Status::from_number(record.status.into()).ok_or_else(unknown)?,
            is_same: record.content == revision.change.content().as_bytes(),
            traced,
        })
    }
}

impl Traced {
    /// The control message may be in a segment.
    fn read<P: Sqlite>(cold: &Cold<'_, P>, row: &mut Row) -> Result<Self> {
        let (revisions, control) = (row.count()?, row.opt_msg_id()?);
        let in_row = row.opt_int()?.map(i64::unsigned_abs);
        let seq = match control.filter(|_| in_row.is_none()) {
            Some(control) => cold.find_one(control)?.map(|record| record.seq),
            None => in_row,
        };
        Ok(Self { revisions, told: control.zip(seq).map(|(msg_id, seq)| Told { msg_id, seq }) })
    }
}

/// ?4: the [`times`] of now; ?5: the message; ?6: the content of an edit. `history = 1` is
/// `from_join`.
fn statement() -> String {
    format!(
        "SELECT {0}, {1}, c.kind, m.role, c.cold_msg_id, max({2}, iif(c.history = 1, coalesce(m.floor, 0), 0)),
            coalesce(r.number, 0), r.control_msg_id, told.seq, x.sender, x.kind, x.status, x.content = ?6
        FROM conversation c JOIN store s ON s.id = 1
        LEFT JOIN member m ON m.cid = c.cid AND m.user = ?3
        LEFT JOIN message x ON x.cid = c.cid AND x.msg_id = ?5
            AND x.msg_id > max({2}, iif(c.history = 1, coalesce(m.floor, 0), 0))
        LEFT JOIN revision r ON r.cid = c.cid AND r.msg_id = ?5
            AND r.number = (SELECT max(number) FROM revision WHERE cid = c.cid AND msg_id = ?5)
        LEFT JOIN message told ON told.cid = r.cid AND told.msg_id = r.control_msg_id
        WHERE c.tenant = ?1 AND c.name = ?2",
        Head::COLUMNS,
        Counters::COLUMNS,
        expired_up_to!("?4")
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
