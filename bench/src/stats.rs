//! Figures: what one loop gave, and what several say together.

use serde_json::{Value, json};
use std::time::Duration;

/// What one measurement gave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Requests, or rows, in a second.
    pub rate: f64,
    /// Latency in microseconds; absent where there are no requests to speak of.
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    /// Processor time of each request, by who spent it, in microseconds.
    pub cpu: Cpu,
    pub count: u64,
}

/// Processor time in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    pub subject: f64,
    pub redis: f64,
    pub postgres: f64,
    pub load: f64,
}

impl Sample {
    pub fn of(mut latencies: Vec<Duration>, length: Duration) -> Self {
        latencies.sort_unstable();
        let at = |share: f64| {
            let index = (latencies.len() as f64 * share) as usize;
            latencies.get(index).map(|latency| latency.as_secs_f64() * 1e6)
        };
        let count = latencies.len() as u64;
        let rate = count as f64 / length.as_secs_f64();
        Self { rate, p50_us: at(0.5), p99_us: at(0.99), count, ..Self::default() }
    }

    pub fn of_rows(rows: u64, took: Duration) -> Self {
        Self { rate: rows as f64 / took.as_secs_f64(), count: rows, ..Self::default() }
    }
}

/// Several measurements of the same.
#[derive(Clone, Debug, Default)]
pub struct Samples(pub Vec<Sample>);

impl Samples {
    pub fn rate(&self) -> f64 {
        self.median(|sample| Some(sample.rate)).unwrap_or(0.0)
    }

    /// From the lowest rate to the highest, as a share of the median.
    pub fn spread(&self) -> f64 {
        let rates = || self.0.iter().map(|sample| sample.rate);
        let (low, high) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        if self.rate() > 0.0 { (high - low) / self.rate() } else { 0.0 }
    }

    pub fn median(&self, of: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        let mut values: Vec<f64> = self.0.iter().filter_map(of).collect();
        values.sort_by(f64::total_cmp);
        let upper = values.get(values.len() / 2)?;
        let lower = values.get(values.len().saturating_sub(1) / 2)?;
        Some((upper + lower) / 2.0)
    }

    pub fn cpu(&self) -> Cpu {
        let median = |of: fn(&Cpu) -> f64| self.median(|sample| Some(of(&sample.cpu))).unwrap_or(0.0);
        Cpu {
            subject: median(|cpu| cpu.subject),
            redis: median(|cpu| cpu.redis),
            postgres: median(|cpu| cpu.postgres),
            load: median(|cpu| cpu.load),
        }
    }

    pub fn json(&self) -> Value {
        let cpu = self.cpu();
        json!({
            "rate": self.rate(),
            "spread": self.spread(),
            "p50Us": self.median(|sample| sample.p50_us),
            "p99Us": self.median(|sample| sample.p99_us),
            "cpuUs": { "subject": cpu.subject, "redis": cpu.redis, "postgres": cpu.postgres, "load": cpu.load },
            "rates": self.0.iter().map(|sample| sample.rate).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spread() {
        let of = |rates: &[f64]| {
            Samples(rates.iter().map(|rate| Sample { rate: *rate, ..Sample::default() }).collect())
        };
        assert_eq!(of(&[3.0, 1.0, 2.0]).rate(), 2.0);
        assert_eq!(of(&[3.0, 1.0]).rate(), 2.0);
        assert_eq!(of(&[8.0, 10.0, 12.0]).spread(), 0.4);
        assert_eq!(of(&[]).rate(), 0.0);
        let latencies = (1..=100).rev().map(Duration::from_millis).collect();
        let sample = Sample::of(latencies, Duration::from_secs(2));
        assert_eq!((sample.rate, sample.p50_us, sample.p99_us), (50.0, Some(51_000.0), Some(100_000.0)));
    }
}
