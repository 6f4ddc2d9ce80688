//! The store's upkeep and health, in requests and answers.

use super::list::List;
use super::text::Text;
use crate::problem::Problem;
use im_domain::limits::{RUN_MS_DEFAULT, RUN_MS_MAX};
use im_domain::upkeep::{EpochStatus, LastRun, PartitionStatus, RunReport, StoreStatus, Task, Tiers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most entries of `tasks`: every task once.
const TASKS_MAX: usize = Task::ALL.len();

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RunUpkeep")]
pub struct RunIn {
    /// All if not given.
    tasks: Option<List<Text<Task>, 1, TASKS_MAX>>,
    /// How long the run may take, in milliseconds.
    #[schemars(range(min = 1, max = RUN_MS_MAX), extend("default" = RUN_MS_DEFAULT))]
    max_ms: Option<u64>,
}

impl RunIn {
    pub fn run(self) -> Result<(Vec<Task>, u64), Problem> {
        let max_ms = self.max_ms.unwrap_or(RUN_MS_DEFAULT);
        if !(1..=RUN_MS_MAX).contains(&max_ms) {
            return Err(Problem::invalid("maxMs", format!("must be 1 to {RUN_MS_MAX}")));
        }
        let tasks = match self.tasks {
            Some(tasks) => tasks.0.into_iter().map(|task| task.0).collect(),
            None => Task::ALL.to_vec(),
        };
        Ok((tasks, max_ms))
    }
}

/// What one run did.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RunReport")]
pub struct RunOut {
    drained: u64,
    tiered: u64,
    expired: u64,
    dead_lettered: u64,
    /// What waits for SQL after the run: messages, positions, conversations made, changes of members.
    backlog: u64,
    took_ms: u64,
}

impl From<RunReport> for RunOut {
    fn from(report: RunReport) -> Self {
        Self {
            drained: report.drained,
            tiered: report.tiered,
            expired: report.expired,
            dead_lettered: report.dead_lettered,
            backlog: report.backlog,
            took_ms: report.took_ms,
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StoreStatus")]
pub struct StatusOut {
    backlog: u64,
    oldest_unpersisted_ms: u64,
    dead_letters: u64,
    /// Those with a backlog.
    partitions: Vec<PartitionOut>,
    tiers: TiersOut,
    epochs: Vec<EpochOut>,
    last_run: Option<LastRunOut>,
}

impl From<StoreStatus> for StatusOut {
    fn from(status: StoreStatus) -> Self {
        Self {
            backlog: status.backlog,
            oldest_unpersisted_ms: status.oldest_unpersisted_ms,
            dead_letters: status.dead_letters,
            partitions: status.partitions.into_iter().map(PartitionOut::from).collect(),
            tiers: status.tiers.into(),
            epochs: status.epochs.into_iter().map(EpochOut::from).collect(),
            last_run: status.last_run.map(LastRunOut::from),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PartitionStatus")]
struct PartitionOut {
    partition: u8,
    backlog: u64,
    oldest_unpersisted_ms: u64,
}

impl From<PartitionStatus> for PartitionOut {
    fn from(status: PartitionStatus) -> Self {
        Self {
            partition: status.partition,
            backlog: status.backlog,
            oldest_unpersisted_ms: status.oldest_unpersisted_ms,
        }
    }
}

/// Messages per tier. While a batch moves it may be counted in both.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Tiers")]
struct TiersOut {
    hot: u64,
    sql: u64,
    cold: u64,
}

impl From<Tiers> for TiersOut {
    fn from(tiers: Tiers) -> Self {
        Self { hot: tiers.hot, sql: tiers.sql, cold: tiers.cold }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Epoch")]
struct EpochOut {
    epoch: String,
    since: u64,
}

impl From<EpochStatus> for EpochOut {
    fn from(status: EpochStatus) -> Self {
        Self { epoch: status.epoch, since: status.since }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LastRun")]
struct LastRunOut {
    at: u64,
    #[serde(flatten)]
    report: RunOut,
}

impl From<LastRun> for LastRunOut {
    fn from(run: LastRun) -> Self {
        Self { at: run.at, report: run.report.into() }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Health")]
pub struct HealthOut {
    /// `ok` or `ready`.
    pub status: &'static str,
}
