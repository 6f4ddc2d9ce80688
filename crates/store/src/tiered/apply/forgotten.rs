//! Positions of devices that were forgotten.

use super::{ADVANCE, GATE, OUTCOME};
use crate::sql::Value;
use crate::tiered::entry::{Body, Entry, Forgotten};

pub(super) fn statement() -> String {
    format!(
        "WITH {GATE},
        gone AS (
            DELETE FROM position p USING unnest($4::bigint[], $5::bigint[], $6::text[], $7::text[])
                AS t(stamp, cid, user_id, device), gate
            WHERE t.stamp > gate.clock AND p.cid = t.cid AND p.user_id = t.user_id AND p.device = t.device),
        {ADVANCE}
        SELECT {OUTCOME}, 0::bigint"
    )
}

pub(super) fn parameters_of(begin: Vec<Value>, entries: &[Entry]) -> Vec<Value> {
    let forgotten: Vec<(&Entry, &Forgotten)> = entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Forgotten(forgotten) => Some((entry, forgotten)),
            _ => None,
        })
        .collect();
    let texts = |text: &dyn Fn(&Forgotten) -> &str| {
        Value::Texts(forgotten.iter().map(|(_, forgotten)| Some(text(forgotten).to_owned())).collect())
    };
    let mut parameters = begin;
    parameters.extend([
        Value::Integers(forgotten.iter().map(|(entry, _)| Some(entry.stamp.to_sql())).collect()),
        Value::Integers(forgotten.iter().map(|(_, forgotten)| Some(forgotten.cid.to_sql())).collect()),
        texts(&|forgotten| &forgotten.user),
        texts(&|forgotten| &forgotten.device),
    ]);
    parameters
}
