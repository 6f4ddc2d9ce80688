//! The rows of the table, and the rounds that fill them.

use crate::bounds::Bound;
use crate::failure::{Doing, Outcome};
use crate::stage::{Scale, Stage, Who, Work};
use crate::stats::Samples;

pub struct Row {
    pub name: String,
    pub unit: &'static str,
    work: Work,
    pub im: Samples,
    pub twin: Samples,
    /// The first is the one that the row is compared with.
    pub bounds: Vec<(Bound, Samples)>,
}

impl Row {
    fn new(name: String, unit: &'static str, work: Work, bounds: &[Bound]) -> Self {
        let bounds = bounds.iter().map(|bound| (*bound, Samples::default())).collect();
        Self { name, unit, work, im: Samples::default(), twin: Samples::default(), bounds }
    }
}

fn rows(scale: Scale) -> Vec<Row> {
    let (many, depth, count) = (crate::scene::CONVERSATIONS, scale.depth, scale.rows);
    vec![
        Row::new("send, c=1".into(), "req/s", Work::Send(1), &[Bound::Append(1), Bound::Ping]),
        Row::new(format!("send, c={many}"), "req/s", Work::Send(many), &[Bound::Append(many)]),
        Row::new("pull newest 20, c=1".into(), "req/s", Work::Newest(1), &[Bound::Page(1)]),
        Row::new(format!("pull newest 20, c={many}"), "req/s", Work::Newest(many), &[Bound::Page(many)]),
        Row::new(format!("pull 20, {depth} deep, c=1"), "req/s", Work::Deep, &[Bound::Statement]),
        Row::new("send in batches of 100, c=4".into(), "msg/s", Work::Batches, &[]),
        Row::new(
            format!("drain of {count}"),
            "rows/s",
            Work::Drain,
            &[Bound::Copy, Bound::Insert(1), Bound::Insert(many)],
        ),
    ]
}

/// Measures every row in every round: `im`, twin, bounds, and in the next round again, so that what
/// changes with time is the same for all.
pub async fn measure(stage: &Stage) -> Outcome<Vec<Row>> {
    let scale = stage.scale;
    let mut rows = rows(scale);
    for round in 1..=scale.rounds {
        for row in &mut rows {
            eprintln!("round {round} of {}: {}", scale.rounds, row.name);
            let name = row.name.clone();
            row.im.0.push(stage.measure(row.work, Who::Im).await.doing(|| format!("im, {name}"))?);
            row.twin.0.push(stage.measure(row.work, Who::Twin).await.doing(|| format!("twin, {name}"))?);
            for (bound, samples) in &mut row.bounds {
                samples.0.push(stage.bounds.measure(*bound).await.doing(|| bound.name())?);
            }
        }
    }
    Ok(rows)
}
