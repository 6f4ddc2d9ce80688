//! Upkeep. Here messages are in SQL at once, so there is nothing to drain.

use super::{Embedded, expire, tier};
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::upkeep::{EpochStatus, LastRun, RunReport, StoreStatus, Task, Tiers};
use im_domain::{Result, Tenant};

pub(super) fn run<P: Sqlite>(store: &Embedded<P>, tasks: &[Task], max_ms: u64) -> Result<RunReport> {
    let began = store.now_ms();
    let took = || store.now_ms().saturating_sub(began);
    let mut report = RunReport::default();
    if tasks.is_empty() || tasks.contains(&Task::Expire) {
        report.expired = expire::expire(store, || took() >= max_ms)?;
    }
    if tasks.is_empty() || tasks.contains(&Task::Tier) {
        report.tiered = tier::tier(store, || took() >= max_ms)?;
    }
    report.took_ms = took();
    // A schedule may ask for the drain each second; a run of nothing else is none worth a write.
    if tasks.is_empty() || tasks.iter().any(|task| *task != Task::Drain) {
        record(store, began, &report)?;
    }
    Ok(report)
}

fn record<P: Sqlite>(store: &Embedded<P>, at: u64, report: &RunReport) -> Result<(), SqlError> {
    const STATEMENT: &str = "
        INSERT INTO upkeep_run (id, at, expired, took_ms, tiered) VALUES (1, ?1, ?2, ?3, ?4)
        ON CONFLICT (id) DO UPDATE SET at = ?1, expired = ?2, took_ms = ?3, tiered = ?4";
    store.db.execute(STATEMENT, params![at, report.expired, report.took_ms, report.tiered]).map(|_| ())
}

pub(super) fn status<P: Sqlite>(store: &Embedded<P>, tenant: &Tenant) -> Result<StoreStatus> {
    const STATEMENT: &str = "
        SELECT s.epoch, s.epoch_since, r.at, coalesce(r.expired, 0), coalesce(r.took_ms, 0), coalesce(r.tiered, 0),
            (SELECT coalesce(sum(head_seq - purged_seq - cold), 0) FROM conversation WHERE tenant = ?1),
            (SELECT coalesce(sum(cold), 0) FROM conversation WHERE tenant = ?1)
        FROM store s LEFT JOIN upkeep_run r ON r.id = 1 WHERE s.id = 1";
    let mut rows = store.db.execute(STATEMENT, params![tenant.as_str()])?;
    let row = rows.first_mut().ok_or_else(|| SqlError::Failed("the table store is empty".to_owned()))?;
    Ok(read(row)?)
}

fn read(row: &mut Row) -> Result<StoreStatus, SqlError> {
    let epoch = EpochStatus { epoch: row.text()?, since: row.count()? };
    let at = row.opt_int()?.and_then(|at| u64::try_from(at).ok());
    let report = RunReport {
        expired: row.count()?,
        took_ms: row.count()?,
        tiered: row.count()?,
        ..RunReport::default()
    };
    Ok(StoreStatus {
        backlog: 0,
        oldest_unpersisted_ms: 0,
        dead_letters: 0,
        partitions: Vec::new(),
        tiers: Tiers { hot: 0, sql: row.count()?, cold: row.count()? },
        epochs: vec![epoch],
        last_run: at.map(|at| LastRun { at, report }),
    })
}
