//! Messages that users have hidden.

use super::{ADVANCE, GATE, OUTCOME};
use crate::sql::Value;
use crate::tiered::entry::{Body, Entry, Hidden};
use im_domain::MsgId;

pub(super) fn statement() -> String {
    format!(
        "WITH {GATE},
        hid AS (
            INSERT INTO hidden (cid, user_id, msg_id, counts)
            SELECT t.cid, t.user_id, t.msg_id, t.counts
            FROM unnest($4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[])
                AS t(stamp, cid, user_id, msg_id, counts), gate
            WHERE t.stamp > gate.clock ON CONFLICT DO NOTHING),
        {ADVANCE}
        SELECT {OUTCOME}, 0::bigint"
    )
}

/// The stamp of an entry, and one of its messages, with whether it would be unread.
type One<'a> = (MsgId, &'a Hidden, MsgId, bool);

pub(super) fn parameters_of(begin: Vec<Value>, entries: &[Entry]) -> Vec<Value> {
    let all = entries.iter().filter_map(|entry| match &entry.body {
        Body::Hidden(hidden) => Some((entry.stamp, hidden)),
        _ => None,
    });
    let messages: Vec<One<'_>> = all
        .flat_map(|(stamp, hidden)| {
            hidden.messages.iter().map(move |(id, counts)| (stamp, hidden, *id, *counts))
        })
        .collect();
    let numbers = |number: &dyn Fn(&One<'_>) -> i64| {
        Value::Integers(messages.iter().map(|one| Some(number(one))).collect())
    };
    let mut parameters = begin;
    parameters.extend([
        numbers(&|(stamp, ..)| stamp.to_sql()),
        numbers(&|(_, hidden, ..)| hidden.cid.to_sql()),
        Value::Texts(messages.iter().map(|(_, hidden, ..)| Some(hidden.user.clone())).collect()),
        numbers(&|(.., id, _)| id.to_sql()),
        numbers(&|(.., counts)| i64::from(*counts)),
    ]);
    parameters
}
