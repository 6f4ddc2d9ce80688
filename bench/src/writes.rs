//! What one message makes the servers do, by the number of those it is sent to.

use crate::failure::{Doing, Outcome};
use crate::scene::{create, say};
use crate::stage::{Stage, Who};
use crate::tally::{Counts, Tally, number};
use im_domain::limits::{INDEX_MEMBERS_MAX, MEMBERS_PER_CALL_MAX};
use serde_json::{Value, json};

/// Members of the groups: around the number up to which each is told of a message, and far above it.
const GROUPS: [usize; 5] =
    [2, 100, INDEX_MEMBERS_MAX as usize, INDEX_MEMBERS_MAX as usize + 1, MEMBERS_PER_CALL_MAX];
/// Messages over which counts are a mean.
const COUNTED_MESSAGES: usize = 5;

pub struct Row {
    /// Absent where nothing is sent, to tell what a drain does in any case.
    members: Option<usize>,
    send: Counts,
    /// Storing it in SQL.
    drain: Counts,
}

/// Counts through `im up`; the engine is the same in the twin.
pub async fn measure(stage: &Stage) -> Outcome<Vec<Row>> {
    let mut tally = Tally::begin(&stage.servers).await?;
    drain(stage).await?;
    let idle = tally.count(drain(stage)).await?;
    let mut rows = vec![Row { members: None, send: Counts::default(), drain: idle }];
    for members in GROUPS {
        eprintln!("writes: a group of {members}");
        let counted = count(stage, &mut tally, members).await;
        rows.push(counted.doing(|| format!("a group of {members}"))?);
    }
    tally.end().await?;
    Ok(rows)
}

async fn count(stage: &Stage, tally: &mut Tally<'_>, members: usize) -> Outcome<Row> {
    let (subject, tokens) = (stage.subject(Who::Im), &stage.tokens);
    let group = [format!("g{members}")];
    let others: Vec<String> = (1..members).map(|number| format!("m{number:05}")).collect();
    create(subject, tokens, &group.concat(), &others).await?;
    say(subject, tokens, &group).await?;
    drain(stage).await?;
    let (mut sent, mut drained) = (Counts::default(), Counts::default());
    for _ in 0..COUNTED_MESSAGES {
        sent = sent.plus(tally.count(say(subject, tokens, &group)).await?);
        drained = drained.plus(tally.count(drain(stage)).await?);
    }
    let [send, drain] = [sent, drained].map(|sum| sum.each(COUNTED_MESSAGES));
    Ok(Row { members: Some(members), send, drain })
}

async fn drain(stage: &Stage) -> Outcome {
    stage.subject(Who::Im).drain(&stage.tokens).await.map(drop)
}

pub fn table(rows: &[Row]) -> String {
    let mut lines = vec![
        "| one message to a group of | send: Redis scripts | commands in them | SQL statements | its drain: Redis \
         scripts | commands in them | SQL statements | rows written |"
            .to_owned(),
        "| --- | --- | --- | --- | --- | --- | --- | --- |".to_owned(),
    ];
    for Row { members, send, drain } in rows {
        let counts = [send.scripts, send.commands, send.statements, drain.scripts, drain.commands]
            .into_iter()
            .chain([drain.statements, drain.rows])
            .map(number);
        let members = members.map_or_else(|| "(no message)".to_owned(), |members| number(members as f64));
        lines.push(format!("| {members} | {} |", counts.collect::<Vec<_>>().join(" | ")));
    }
    lines.join("\n")
}

pub fn json(rows: &[Row]) -> Value {
    let one =
        |row: &Row| json!({ "members": row.members, "send": row.send.json(), "drain": row.drain.json() });
    rows.iter().map(one).collect()
}
