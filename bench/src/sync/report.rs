//! The figures of sync as a person and as a program reads them.

use super::{Pace, Row};
use crate::report::{cell, latencies, ratio, share};
use crate::tally::{Counts, number};
use serde_json::{Value, json};

/// How long walks and their calls take, in Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut lines = vec![
        "| sync, c=1 | calls | `im up`: a walk | a call | native twin: a walk | a call | im : twin |"
            .to_owned(),
        "| --- | --- | --- | --- | --- | --- | --- |".to_owned(),
    ];
    for row in rows {
        let [im, twin] = [&row.im, &row.twin].map(|pace| {
            let call = if row.calls > 1 { latencies(&pace.calls).join(", ") } else { "″".to_owned() };
            format!("{} | {call}", cell(&pace.walks, row.unit()))
        });
        let share = ratio(&row.im.walks, &row.twin.walks);
        lines.push(format!("| {} | {} | {im} | {twin} | {share} |", row.walk.name(), row.calls));
    }
    lines.join("\n")
}

/// What walks and their calls make the servers do.
pub fn work_table(rows: &[Row]) -> String {
    let mut lines = vec![
        "| Redis scripts + Redis commands in them + SQL statements | `im up`: a walk | a call | native twin: a \
         walk | a call |"
            .to_owned(),
        "| --- | --- | --- | --- | --- |".to_owned(),
    ];
    for row in rows {
        let [im, twin] = [&row.im, &row.twin].map(|pace| {
            let counts = [pace.counts, pace.counts.each(row.calls)];
            counts.map(work).join(" | ")
        });
        lines.push(format!("| {} | {im} | {twin} |", row.walk.name()));
    }
    lines.join("\n")
}

fn work(counts: Counts) -> String {
    [counts.scripts, counts.commands, counts.statements].map(number).join(" + ")
}

pub fn json(rows: &[Row]) -> Value {
    let pace = |pace: &Pace| json!({ "walks": pace.walks.json(), "calls": pace.calls.json(), "workOfWalk": pace.counts.json() });
    let one = |row: &Row| {
        json!({
            "name": row.walk.name(),
            "unit": row.unit(),
            "callsOfWalk": row.calls,
            "im": pace(&row.im),
            "twin": pace(&row.twin),
            "imToTwin": share(&row.im.walks, &row.twin.walks),
        })
    };
    rows.iter().map(one).collect()
}
