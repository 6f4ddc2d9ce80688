//! What is erased of messages that are in cold segments: these are packed anew, so that what was said is in none.

use crate::cold::{Stored, before, is_erased, is_own, pack};
use crate::embedded::cold::Cold;
use crate::erase::Erasure;
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::message::{FINGERPRINT_BYTES, Status};
use im_domain::{MsgId, Result};
use im_segment::Record;

/// By what an erasure is known.
pub(super) struct Mark<'a> {
    /// Its number: as that of a control message.
    pub stamp: MsgId,
    /// When, in milliseconds since 1970.
    pub now_ms: u64,
    /// Makes names that no client can have given.
    pub random: &'a str,
}

/// ?1 conversation, ?2 user, ?3 pairs of message and whether it counted (JSON), ?4 who erases, ?5 when, ?6 the number.
const TRACE: &str = "
    INSERT INTO revision (cid, msg_id, number, action, control_msg_id, sender, uncounted, user, role, time, reason,
        content)
    SELECT ?1, k.value ->> 0,
        1 + (SELECT count(*) FROM revision v WHERE v.cid = ?1 AND v.msg_id = k.value ->> 0), 3, ?6, ?2,
        k.value ->> 1, ?4, 0, ?5, '', x'' FROM json_each(?3) k";
const TELL: &str = "INSERT INTO late (place, cid, msg_id, kind) SELECT ?2, ?1, value, 4 FROM json_each(?3)";

/// Erases messages of the user, within the transaction that is open.
pub(super) fn erase<P: Sqlite>(cold: &Cold<'_, P>, erasure: &Erasure<'_>, mark: &Mark<'_>) -> Result<()> {
    let mut ids: Vec<MsgId> = erasure.sent.iter().map(|sent| sent.msg_id).collect();
    ids.sort_unstable();
    while let Some(first) = ids.first() {
        let Some(segment) = cold.next(before(*first))? else { break };
        let rest = ids.split_off(ids.partition_point(|id| *id <= segment.last_id));
        erase_in(cold, &segment, &ids, erasure, mark)?;
        ids = rest;
    }
    Ok(())
}

fn erase_in<P: Sqlite>(
    cold: &Cold<'_, P>,
    segment: &Stored,
    ids: &[MsgId],
    erasure: &Erasure<'_>,
    mark: &Mark<'_>,
) -> Result<()> {
    let mut records = segment.records(cold.number())?;
    let user = erasure.user.as_str();
    let is_doomed = |record: &Record| {
        ids.binary_search(&record.msg_id).is_ok() && is_own(record, user) && !is_erased(record)
    };
    let (mut told, mut traced) = (Vec::new(), Vec::new());
    for record in records.iter_mut().filter(|record| is_doomed(record)) {
        told.push(record.msg_id.to_sql());
        if i64::from(record.status) == Status::Normal.number() {
            traced.push(vec![record.msg_id.to_sql(), i64::from(record.own.is_some())]);
        }
        empty(record, mark);
    }
    if told.is_empty() {
        return Ok(());
    }
    let json = |value: serde_json::Value| value.to_string();
    let parameters =
        params![cold.cid, user, json(traced.into()), erasure.by.as_str(), mark.now_ms, mark.stamp];
    cold.store.db.execute(TRACE, parameters)?;
    cold.store.db.execute(TELL, params![cold.cid, mark.stamp.place(), json(told.into())])?;
    cold.replace(Some(segment), pack(cold.number(), &records)?)
}

fn empty(record: &mut Record, mark: &Mark<'_>) {
    record.status = i16::try_from(Status::Deleted.number()).unwrap_or_default();
    record.content = Vec::new();
    (record.ext, record.edit_time) = (None, None);
    record.fingerprint = [0; FINGERPRINT_BYTES];
    record.client_msg_id = format!("!erased:{}:{}", record.msg_id, mark.random);
}
