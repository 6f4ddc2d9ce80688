//! `im migrate`: brings the PostgreSQL databases of the profile `redis` up to this version's schema.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use im_store::native::NativePostgres;
use im_store::postgres::Postgres;
use im_store::tiered::config::{self, ServerUrl};
use im_store::tiered::{MigrationReport, migrate};

use super::CommandError;
use super::connection::run_client;
use crate::limits::CONFIG_BYTES_MAX;
use crate::output;

/// The variable of the environment that holds the URLs when no option does.
const ENVIRONMENT: &str = "IM_POSTGRES_URL";
const OPTION: &str = "--postgres-url";
const OPTION_FILE: &str = "--postgres-url-file";

/// The databases are those of the variable `postgres_url`, in any order. Safe to repeat.
#[derive(clap::Args)]
pub struct Args {
    /// URLs of the databases, separated by commas. Everyone on this machine sees a command line in the
    /// list of processes, passwords included: better give --postgres-url-file or set IM_POSTGRES_URL
    #[arg(long, value_name = "URL[,URL...]", conflicts_with = "postgres_url_file")]
    postgres_url: Option<String>,
    /// File with the URLs
    #[arg(long, value_name = "FILE")]
    postgres_url_file: Option<PathBuf>,
}

pub fn run(args: Args) -> Result<(), CommandError> {
    let databases = databases(&args)?;
    run_client(async {
        for url in &databases {
            let report = one(url).await.map_err(|why| CommandError::Failed(told(url, &why)))?;
            output::line(&format!("{}: {}", url.name(), done(&report)));
        }
        Ok(())
    })
}

/// Who gives URLs: an option, else the environment.
fn databases(args: &Args) -> Result<Vec<ServerUrl>, CommandError> {
    let (source, text) = match (&args.postgres_url, &args.postgres_url_file) {
        (Some(text), _) => (OPTION, text.clone()),
        (None, Some(file)) => (OPTION_FILE, read(file)?),
        (None, None) => {
            let missing =
                || CommandError::Usage(format!("no database: set {ENVIRONMENT} or give {OPTION_FILE}"));
            (ENVIRONMENT, std::env::var(ENVIRONMENT).map_err(|_| missing())?)
        }
    };
    config::databases(source, &text).map_err(CommandError::usage)
}

fn read(file: &Path) -> Result<String, CommandError> {
    let mut text = String::new();
    File::open(file)
        .and_then(|f| f.take(CONFIG_BYTES_MAX).read_to_string(&mut text))
        .map_err(|e| CommandError::Usage(format!("{OPTION_FILE} {}: {e}", file.display())))?;
    Ok(text)
}

async fn one(url: &ServerUrl) -> Result<MigrationReport, String> {
    let database = NativePostgres::new(url.as_str()).map_err(|e| e.to_string())?;
    // The store's own error says no more than that it is away; this one says why.
    database.query("SELECT 1::bigint", Vec::new()).await.map_err(|e| e.to_string())?;
    migrate(&database, now_ms()).await.map_err(|e| e.to_string())
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn told(url: &ServerUrl, why: &str) -> String {
    format!("{}: {}", url.name(), url.clean(why))
}

fn done(report: &MigrationReport) -> String {
    match report {
        MigrationReport { found, now } if found == now => format!("is at version {now} already"),
        MigrationReport { found: 0, now } => format!("made, at version {now}"),
        MigrationReport { found, now } => format!("migrated from version {found} to {now}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_told() {
        let told = |found, now| done(&MigrationReport { found, now });
        assert_eq!(told(0, 2), "made, at version 2");
        assert_eq!(told(1, 2), "migrated from version 1 to 2");
        assert_eq!(told(2, 2), "is at version 2 already");
    }

    #[test]
    fn a_wrong_url_is_not_shown() {
        let args = Args { postgres_url: Some("http://u:SECRET@h".into()), postgres_url_file: None };
        let message = databases(&args).unwrap_err().to_string();
        assert!(message.contains(OPTION) && !message.contains("SECRET"), "{message}");
    }

    #[test]
    fn a_file_with_a_line_of_urls() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("urls");
        std::fs::write(&file, "postgres://a,\n postgres://b\n").unwrap();
        let args = Args { postgres_url: None, postgres_url_file: Some(file) };
        let names: Vec<_> = databases(&args).unwrap().iter().map(|url| url.name().to_owned()).collect();
        assert_eq!(names, ["postgres 1", "postgres 2"]);
    }
}
