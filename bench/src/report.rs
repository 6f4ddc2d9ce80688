//! The figures as a person and as a program reads them.

use crate::rows::Row;
use crate::servers::redis::Fsync;
use crate::stats::{Cpu, Samples};
use serde_json::{Value, json};

/// The table, in Markdown.
pub fn table(rows: &[Row], fsync: Fsync) -> String {
    let mut lines = vec![
        "| | Redis fsync | `im up` | native twin | bound | im : twin | im : bound | twin : bound |"
            .to_owned(),
        "| --- | --- | --- | --- | --- | --- | --- | --- |".to_owned(),
    ];
    for row in rows {
        let (im, twin) = (cell(&row.im, row.unit), cell(&row.twin, row.unit));
        let own = ratio(&row.im, &row.twin);
        let line = |im: &str, twin: &str, bound: &str, own: &str, ratios: [String; 2]| {
            let [of_im, of_twin] = ratios;
            format!(
                "| {} | {} | {im} | {twin} | {bound} | {own} | {of_im} | {of_twin} |",
                row.name,
                fsync.name()
            )
        };
        if row.bounds.is_empty() {
            lines.push(line(&im, &twin, "", &own, [String::new(), String::new()]));
        }
        for (index, (bound, samples)) in row.bounds.iter().enumerate() {
            let bound = format!("{}: {}", bound.name(), cell(samples, row.unit));
            let ratios = [ratio(&row.im, samples), ratio(&row.twin, samples)];
            lines.push(match index {
                0 => line(&im, &twin, &bound, &own, ratios),
                _ => line("″", "″", &bound, "″", ratios),
            });
        }
    }
    lines.join("\n")
}

/// Where the time of the processors went.
pub fn processor_table(rows: &[Row]) -> String {
    let mut lines = vec![
        "| µs of processor time for each | `im up`: im + Redis + PostgreSQL + load | twin: twin + Redis + \
         PostgreSQL + load | bound: Redis + PostgreSQL + load |"
            .to_owned(),
        "| --- | --- | --- | --- |".to_owned(),
    ];
    for row in rows {
        let (im, twin) = (cpu(row.im.cpu()), cpu(row.twin.cpu()));
        let bound = row.bounds.first().map(|(_, samples)| servers(samples.cpu())).unwrap_or_default();
        lines.push(format!("| {} | {im} | {twin} | {bound} |", row.name));
    }
    lines.join("\n")
}

pub fn json(rows: &[Row], fsync: Fsync) -> Value {
    let bounds = |row: &Row| -> Vec<Value> {
        let one = |(bound, samples): &(_, Samples)| {
            let bound: &crate::bounds::Bound = bound;
            json!({
                "name": bound.name(),
                "figures": samples.json(),
                "imToBound": share(&row.im, samples),
                "twinToBound": share(&row.twin, samples),
            })
        };
        row.bounds.iter().map(one).collect()
    };
    let one = |row: &Row| {
        json!({
            "name": row.name,
            "unit": row.unit,
            "redisFsync": fsync.name(),
            "im": row.im.json(),
            "twin": row.twin.json(),
            "imToTwin": share(&row.im, &row.twin),
            "bounds": bounds(row),
        })
    };
    rows.iter().map(one).collect()
}

/// Rate, spread and latencies.
pub fn cell(samples: &Samples, unit: &str) -> String {
    let rate = format!("{} {unit} (spread {:.0} %)", thousands(samples.rate()), samples.spread() * 100.0);
    [rate].into_iter().chain(latencies(samples)).collect::<Vec<_>>().join(", ")
}

pub fn latencies(samples: &Samples) -> Vec<String> {
    let latency = |name: &str, us: Option<f64>| us.map(|us| format!("{name} {:.2} ms", us / 1_000.0));
    let p50 = latency("p50", samples.median(|sample| sample.p50_us));
    p50.into_iter().chain(latency("p99", samples.median(|sample| sample.p99_us))).collect()
}

fn cpu(cpu: Cpu) -> String {
    format!("{:.0} + {}", cpu.subject, servers(cpu))
}

fn servers(cpu: Cpu) -> String {
    format!("{:.0} + {:.0} + {:.0}", cpu.redis, cpu.postgres, cpu.load)
}

pub fn share(of: &Samples, to: &Samples) -> Option<f64> {
    (to.rate() > 0.0).then(|| of.rate() / to.rate())
}

pub fn ratio(of: &Samples, to: &Samples) -> String {
    share(of, to).map_or_else(String::new, |share| format!("{share:.2}"))
}

pub fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let count = digits.len();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (count - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let found: Vec<_> = [0.4, 999.0, 1_000.0, 1_234_567.0].map(thousands).into();
        assert_eq!(found, ["0", "999", "1,000", "1,234,567"]);
    }
}
