//! How long devices take to follow, and what it costs the servers.

mod report;
mod scene;
mod walk;

pub use report::{json, table, work_table};

use crate::failure::{Doing, Outcome};
use crate::load::{Http, Link, Window};
use crate::stage::{Stage, Who};
use crate::stats::{Sample, Samples};
use crate::tally::{Counts, Tally};
use scene::{CHANGED, Scene};
use walk::{Recording, Walk};

/// Walks over which counts are a mean.
const COUNTED_WALKS: usize = 10;

pub struct Row {
    walk: Walk,
    /// Calls of a walk.
    calls: usize,
    im: Pace,
    twin: Pace,
}

/// What was measured of one subject.
#[derive(Default)]
struct Pace {
    walks: Samples,
    calls: Samples,
    /// What a walk makes the servers do.
    counts: Counts,
}

impl Row {
    fn new(walk: Walk) -> Self {
        Self { walk, calls: 0, im: Pace::default(), twin: Pace::default() }
    }

    fn pace(&mut self, who: Who) -> &mut Pace {
        match who {
            Who::Im => &mut self.im,
            Who::Twin => &mut self.twin,
        }
    }

    /// What rates are of.
    fn unit(&self) -> &'static str {
        match self.walk {
            Walk::CatchUp => "msg/s",
            Walk::Global(_) | Walk::Digest => "walks/s",
        }
    }
}

pub async fn measure(stage: &Stage) -> Outcome<Vec<Row>> {
    eprintln!("sync: preparing");
    let scene = Scene::prepare(stage.subject(Who::Im), &stage.tokens).await?;
    let walks = CHANGED.map(Walk::Global).into_iter().chain([Walk::Digest, Walk::CatchUp]);
    let mut rows: Vec<Row> = walks.map(Row::new).collect();
    count(stage, &scene, &mut rows).await?;
    for round in 1..=stage.scale.rounds {
        for row in &mut rows {
            eprintln!("round {round} of {}: {}", stage.scale.rounds, row.walk.name());
            for who in Who::ALL {
                let taken = take(stage, &scene, row.walk, who).await;
                let (walks, calls) = taken.doing(|| doing(row.walk, who))?;
                let pace = row.pace(who);
                pace.walks.0.push(walks);
                pace.calls.0.push(calls);
            }
        }
    }
    Ok(rows)
}

fn doing(walk: Walk, who: Who) -> String {
    format!("{}, {}", who.name(), walk.name())
}

/// Counts what the walks make the servers do.
async fn count(stage: &Stage, scene: &Scene, rows: &mut [Row]) -> Outcome {
    let mut tally = Tally::begin(&stage.servers).await?;
    for row in rows {
        for who in Who::ALL {
            let mut link = stage.link(who).await?;
            let recording = record(stage, scene, row.walk, &mut link).await.doing(|| doing(row.walk, who))?;
            let work = async {
                for _ in 0..COUNTED_WALKS {
                    recording.play(&mut link, |_| ()).await?;
                }
                Ok(())
            };
            row.pace(who).counts = tally.count(work).await?.each(COUNTED_WALKS);
            row.calls = recording.calls();
        }
    }
    tally.end().await?;
    stage.subject(Who::Im).drain(&stage.tokens).await.map(drop)
}

async fn record<'a>(
    stage: &'a Stage,
    scene: &Scene,
    walk: Walk,
    link: &mut Link<Http>,
) -> Outcome<Recording<'a>> {
    Recording::make(walk, scene, &stage.tokens.service, link).await
}

/// Walks again and again, for a while; gives figures of the walks, and of their calls.
async fn take(stage: &Stage, scene: &Scene, walk: Walk, who: Who) -> Outcome<(Sample, Sample)> {
    let mut link = stage.link(who).await?;
    let recording = record(stage, scene, walk, &mut link).await?;
    let window = Window::of(stage.scale.length * walk.windows());
    let mut calls = Vec::new();
    let go = async || recording.play(&mut link, |begun| calls.extend(window.counted(begun))).await;
    let mut walks = window.gather([window.repeat(go)], stage.meter(who)).await?;
    if walk == Walk::CatchUp {
        walks.rate *= walk.brings() as f64;
        // What was confirmed waits in the log.
        stage.subject(who).drain(&stage.tokens).await?;
    }
    Ok((walks, Sample::of(calls, window.length())))
}
