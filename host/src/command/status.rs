//! `im status`: the state of the store.

use serde_json::value::RawValue;

use super::CommandError;
use super::connection::{ServiceOptions, run_client};
use crate::client::wire::{STATUS, Status};
use crate::client::{Effort, show};
use crate::output;

#[derive(clap::Args)]
pub struct Args {
    /// The server's JSON, on one line
    #[arg(long)]
    json: bool,
    /// Tenant of the service that asks; the messages counted are its own
    #[arg(long, value_name = "T", default_value = "im")]
    tenant: String,
    #[command(flatten)]
    service: ServiceOptions,
}

pub fn run(args: Args) -> Result<(), CommandError> {
    let client = args.service.client(Some(&args.tenant), Effort::PERSON)?;
    run_client(async {
        let answer: Box<RawValue> = client.get(STATUS).await.map_err(CommandError::failed)?;
        if args.json {
            output::line(&show::json_line(&answer));
            return Ok(());
        }
        let status: Status = serde_json::from_str(answer.get())
            .map_err(|e| CommandError::Failed(format!("{STATUS}: not understood: {e}")))?;
        output::line(&table(&status));
        Ok(())
    })
}

/// A label and what there is to say on each line.
fn table(status: &Status) -> String {
    let tiers = &status.tiers;
    let mut rows = vec![
        ("messages", format!("{} hot, {} in SQL, {} cold", tiers.hot, tiers.sql, tiers.cold)),
        ("backlog", format!("{}, the oldest for {} ms", status.backlog, status.oldest_unpersisted_ms)),
        ("dead letters", status.dead_letters.to_string()),
    ];
    for partition in &status.partitions {
        let (backlog, oldest) = (partition.backlog, partition.oldest_unpersisted_ms);
        rows.push(("partition", format!("{}: {backlog}, the oldest for {oldest} ms", partition.partition)));
    }
    for epoch in &status.epochs {
        rows.push(("epoch", format!("{} since {}", epoch.epoch, show::time(epoch.since))));
    }
    rows.push(("last run", last_run(status)));
    let lines: Vec<String> = rows.into_iter().map(|(label, text)| format!("{label:<14}{text}")).collect();
    lines.join("\n")
}

fn last_run(status: &Status) -> String {
    let Some(run) = &status.last_run else { return "never".into() };
    format!(
        "{}: {} drained, {} tiered, {} expired, {} dead letters, in {} ms",
        show::time(run.at),
        run.drained,
        run.tiered,
        run.expired,
        run.dead_lettered,
        run.took_ms
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_everything() {
        let status = |partitions: &str, last_run: &str| -> Status {
            let json = format!(
                r#"{{"backlog":3,"oldestUnpersistedMs":12,"deadLetters":1,"partitions":{partitions},
                    "tiers":{{"hot":1,"sql":2,"cold":4}},"epochs":[{{"epoch":"e","since":0}}],
                    "lastRun":{last_run}}}"#
            );
            serde_json::from_str(&json).unwrap()
        };
        let run = r#"{"at":1,"drained":1,"tiered":2,"expired":3,"deadLettered":4,"backlog":0,"tookMs":5}"#;
        assert_eq!(
            table(&status(r#"[{"partition":7,"backlog":3,"oldestUnpersistedMs":12}]"#, run)),
            "messages      1 hot, 2 in SQL, 4 cold\n\
             backlog       3, the oldest for 12 ms\n\
             dead letters  1\n\
             partition     7: 3, the oldest for 12 ms\n\
             epoch         e since 1970-01-01 00:00:00.000Z\n\
             last run      1970-01-01 00:00:00.001Z: 1 drained, 2 tiered, 3 expired, 4 dead letters, in 5 ms"
        );
        assert!(table(&status("[]", "null")).ends_with("last run      never"));
    }
}
