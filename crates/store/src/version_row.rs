//! Versions of a message out of rows of SQL, the same for every dialect.
//!
//! Each row of the table `revision` has what the message was before, so that what it has become stands in the
//! next one, or in the message. Engines select the revisions, oldest first, and then the message, in the columns
//! `action` (0: the message), `id` of the control message or of the message, `user` who did it, `role` (of the
//! message its kind), `reason` and `content`.

use crate::sql::{Row, Value};
use im_domain::message::Kind;
use im_domain::revision::{Capacity, Origin, Refusal, Version};
use im_domain::{Error, MsgId, Result, UserId};
use im_segment::Record;

/// Who is not privileged sees what messages are, and not what they were.
pub(crate) fn unprivileged() -> Error {
    Error::forbidden("only an administrator sees what messages were before")
}

/// A row, as it was selected.
struct Step {
    origin: Origin,
    id: MsgId,
    user: UserId,
    role: i64,
    reason: String,
    content: String,
}

/// A message that is in a segment, as the row that would stand for it.
pub(crate) fn packed(record: Record) -> Row {
    let none = || Value::Blob(Vec::new());
    let kind = Value::from(i64::from(record.kind));
    Row::new(vec![
        Origin::Send.number().into(),
        record.msg_id.into(),
        record.sender.into(),
        kind,
        none(),
        Value::Blob(record.content),
    ])
}

impl Step {
    fn read(mut row: Row) -> Result<Self> {
        Ok(Self {
            origin: row.case(Origin::from_number)?,
            id: row.msg_id()?,
            user: UserId::parse(row.text()?)?,
            role: row.int()?,
            reason: row.utf8()?,
            content: row.utf8()?,
        })
    }

    /// `content`: what it made of the message.
    fn version(self, content: String) -> Version {
        let capacity = Some(self.role).filter(|_| self.origin != Origin::Send);
        Version {
            content,
            edit_time: self.id.time_ms(),
            by: self.user,
            origin: self.origin,
            capacity: capacity.and_then(Capacity::from_number),
            reason: Some(self.reason).filter(|reason| !reason.is_empty()),
        }
    }
}

pub(crate) fn versions(rows: Vec<Row>) -> Result<Vec<Version>> {
    let mut steps = rows.into_iter().map(Step::read).collect::<Result<Vec<_>>>()?;
    let now = steps.pop().filter(|step| step.origin == Origin::Send);
    let mut now = now.ok_or_else(|| Error::MessageNotFound { field: "msgId".into() })?;
    if now.role == Kind::Recall.number() {
        return Err(Refusal::Control.into());
    }
    let mut contents: Vec<String> = steps.iter_mut().map(|step| std::mem::take(&mut step.content)).collect();
    contents.push(std::mem::take(&mut now.content));
    let all = std::iter::once(now).chain(steps).zip(contents);
    Ok(all.map(|(step, content)| step.version(content)).collect())
}
