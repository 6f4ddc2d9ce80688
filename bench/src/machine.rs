//! What the figures were measured on, and how quiet it was there.

use crate::failure::Outcome;
use crate::servers::{postgres, redis};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

/// How long the machine is watched before anything is started.
const WATCH: Duration = Duration::from_secs(2);
/// Share of the processors that others may take before the figures are called noisy.
const QUIET_SHARE: f64 = 0.05;

pub struct Machine {
    processor: String,
    cores: usize,
    memory_gb: u64,
    kernel: String,
    redis: String,
    postgres: String,
    /// Share of the processors that was busy before the run.
    busy: f64,
    load: String,
}

impl Machine {
    pub fn look() -> Outcome<Self> {
        let before = times();
        std::thread::sleep(WATCH);
        let after = times();
        let all = (after.0 - before.0).max(1.0);
        Ok(Self {
            processor: field("/proc/cpuinfo", "model name")
                .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism()?.get(),
            memory_gb: memory_gb(),
            kernel: read("/proc/sys/kernel/osrelease"),
            redis: redis::version()?,
            postgres: postgres::version()?,
            busy: 1.0 - (after.1 - before.1) / all,
            load: read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" "),
        })
    }

    pub fn is_quiet(&self) -> bool {
        self.busy <= QUIET_SHARE
    }

    pub fn text(&self) -> String {
        let noise = if self.is_quiet() { "quiet" } else { "NOISY: other work ran beside it" };
        format!(
            "{} cores of {}, {} GB, Linux {}; Redis {}, PostgreSQL {}. Before the run {:.0} % of the \
             processors were busy, load average {} ({noise}).",
            self.cores,
            self.processor,
            self.memory_gb,
            self.kernel,
            self.redis,
            self.postgres,
            self.busy * 100.0,
            self.load
        )
    }

    pub fn json(&self) -> Value {
        json!({
            "processor": self.processor,
            "cores": self.cores,
            "memoryGb": self.memory_gb,
            "kernel": self.kernel,
            "redis": self.redis,
            "postgres": self.postgres,
            "busyBefore": self.busy,
            "loadAverage": self.load,
            "quiet": self.is_quiet(),
        })
    }
}

/// All time of the processors so far, and that of it in which they had nothing to do.
fn times() -> (f64, f64) {
    let text = read("/proc/stat");
    let first = text.lines().next().unwrap_or_default();
    let times: Vec<f64> = first.split_whitespace().skip(1).filter_map(|time| time.parse().ok()).collect();
    // user nice system idle iowait …
    (times.iter().sum(), times.iter().skip(3).take(2).sum())
}

fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default().trim().to_owned()
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = read(file);
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
}

fn memory_gb() -> u64 {
    let text = field("/proc/meminfo", "MemTotal").unwrap_or_default();
    let kb: u64 = text.split(' ').next().and_then(|kb| kb.parse().ok()).unwrap_or(0);
    (kb + (1 << 19)) >> 20
}
