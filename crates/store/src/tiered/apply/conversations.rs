//! Conversations that were made.

use super::{ADVANCE, GATE, OUTCOME, signed};
use crate::sql::Value;
use crate::tiered::entry::{Body, Entry, Made};
use im_domain::{MsgId, UserId};

/// One that was set aside has its messages there already when it comes: the feed has them under its stamp.
pub(super) fn statement() -> String {
    format!(
        "WITH {GATE},
        made AS (
            INSERT INTO conversation (cid, tenant, name, kind, history, member_count, head_epoch, create_time,
                update_time)
            SELECT t.cid, t.tenant, t.name, t.kind, t.history, t.members, t.epoch, (t.cid >> 22) + 1704067200000,
                (t.cid >> 22) + 1704067200000
            FROM unnest($4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[],
                $13::bigint[], $14::text[]) AS t(cid, tenant, name, kind, history, members, stamp, epoch), gate
            WHERE t.stamp > gate.clock RETURNING cid, tenant),
        joined AS (
            INSERT INTO member (cid, user_id, tenant, role)
            SELECT t.cid, t.user_id, made.tenant, t.role
            FROM unnest($10::bigint[], $11::text[], $12::bigint[]) AS t(cid, user_id, role) JOIN made USING (cid)),
        come_late AS (
            INSERT INTO late (stamp, cid, msg_id)
            SELECT t.stamp, m.cid, m.msg_id FROM unnest($4::bigint[], $13::bigint[]) AS t(cid, stamp)
            JOIN made USING (cid) JOIN message m USING (cid)
            WHERE t.stamp > t.cid AND coalesce(m.copy_of, 0) = 0),
        {ADVANCE}
        SELECT {OUTCOME}, 0::bigint"
    )
}

pub(super) fn parameters_of(begin: Vec<Value>, entries: &[Entry]) -> Vec<Value> {
    let made: Vec<(&Entry, &Made)> = entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Conversation(made) => Some((entry, made)),
            _ => None,
        })
        .collect();
    let numbers =
        |number: &dyn Fn(&(&Entry, &Made)) -> Option<i64>| Value::Integers(made.iter().map(number).collect());
    let texts = |text: &dyn Fn(&Entry) -> &str| {
        Value::Texts(made.iter().map(|(entry, _)| Some(text(entry).to_owned())).collect())
    };
    let members: Vec<(MsgId, &UserId, u64)> = made
        .iter()
        .flat_map(|(_, made)| made.members.iter().map(|(user, role)| (made.cid, user, *role)))
        .collect();
    let mut parameters = begin;
    parameters.extend([
        numbers(&|(_, made)| Some(made.cid.to_sql())),
        texts(&|entry| entry.place.tenant()),
        texts(&|entry| entry.place.conversation()),
        numbers(&|(_, made)| signed(made.kind)),
        numbers(&|(_, made)| signed(made.history)),
        numbers(&|(_, made)| signed(made.members.len() as u64)),
        Value::Integers(members.iter().map(|(cid, ..)| Some(cid.to_sql())).collect()),
        Value::Texts(members.iter().map(|(_, user, _)| Some(user.as_str().to_owned())).collect()),
        Value::Integers(members.iter().map(|(.., role)| signed(*role)).collect()),
        numbers(&|(entry, _)| Some(entry.stamp.to_sql())),
        Value::Texts(made.iter().map(|(_, made)| Some(made.epoch.clone())).collect()),
    ]);
    parameters
}
