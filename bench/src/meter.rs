//! Processor time of the processes that take part, which says where the time of a request goes when
//! all of them share the cores.

use crate::stats::Cpu;
use std::fs;
use std::time::Instant;

/// The kernel's unit of processor time in /proc, which is the same on every Linux, in microseconds.
const TICK_US: f64 = 10_000.0;
/// Where utime and stime stand in /proc/PID/stat, from the state on, which follows the name.
const UTIME: usize = 11;

/// Whose time is taken.
#[derive(Clone, Copy)]
pub struct Meter {
    /// Absent where a bound is measured.
    pub subject: Option<u32>,
    pub redis: u32,
    pub postgres: u32,
}

impl Meter {
    /// Spent so far.
    pub fn read(self) -> Cpu {
        Cpu {
            subject: self.subject.map_or(0.0, spent),
            redis: spent(self.redis),
            postgres: spent(self.postgres) + children(self.postgres).into_iter().map(spent).sum::<f64>(),
            load: spent(std::process::id()),
        }
    }

    /// Spent between two moments.
    pub async fn between(self, begin: Instant, end: Instant) -> Cpu {
        tokio::time::sleep_until(begin.into()).await;
        let before = self.read();
        tokio::time::sleep_until(end.into()).await;
        self.read().since(before)
    }
}

impl Cpu {
    pub fn since(self, before: Self) -> Self {
        Self {
            subject: self.subject - before.subject,
            redis: self.redis - before.redis,
            // A session that has ended takes its time with it.
            postgres: (self.postgres - before.postgres).max(0.0),
            load: self.load - before.load,
        }
    }

    /// Of each of so many requests.
    pub fn each(self, count: u64) -> Self {
        let count = count.max(1) as f64;
        Self {
            subject: self.subject / count,
            redis: self.redis / count,
            postgres: self.postgres / count,
            load: self.load / count,
        }
    }
}

fn spent(process: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let times = fields.split_whitespace().skip(UTIME).take(2);
    times.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * TICK_US
}

fn children(process: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    text.unwrap_or_default().split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_seen() {
        let before = spent(std::process::id());
        let begun = Instant::now();
        while begun.elapsed().as_millis() < 200 {
            std::hint::black_box(begun);
        }
        assert!(spent(std::process::id()) > before);
    }
}
