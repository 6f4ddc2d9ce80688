//! Which servers there are and which there are to be. URLs hold passwords: they come from files or from
//! the environment, and no error shows one.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use im_store::tiered::config::{self, ServerUrl};

use crate::command::CommandError;
use crate::limits::CONFIG_BYTES_MAX;

const POSTGRES: Source = Source { environment: "IM_POSTGRES_URL", option: "--postgres-url-file" };
const REDIS: Source = Source { environment: "IM_REDIS_URL", option: "--redis-url-file" };
const TO_POSTGRES: &str = "--to-postgres-url-file";
const TO_REDIS: &str = "--to-redis-url-file";

/// Where the URLs in use come from: an option, else the environment.
struct Source {
    environment: &'static str,
    option: &'static str,
}

#[derive(clap::Args)]
pub struct InUse {
    /// File with the URLs of the databases in use, else IM_POSTGRES_URL
    #[arg(long, value_name = "FILE")]
    postgres_url_file: Option<PathBuf>,
    /// File with the URLs of the Redis servers in use, else IM_REDIS_URL
    #[arg(long, value_name = "FILE")]
    redis_url_file: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct DatabaseArgs {
    #[command(flatten)]
    in_use: InUse,
    /// File with the URLs of the databases that there are to be
    #[arg(long, value_name = "FILE")]
    to_postgres_url_file: PathBuf,
}

#[derive(clap::Args)]
pub struct HotArgs {
    #[command(flatten)]
    in_use: InUse,
    /// File with the URLs of the Redis servers that there are to be
    #[arg(long, value_name = "FILE")]
    to_redis_url_file: PathBuf,
}

#[derive(Debug)]
pub struct Databases {
    pub redis: Vec<ServerUrl>,
    pub from: Vec<ServerUrl>,
    pub to: Vec<ServerUrl>,
}

pub struct Hot {
    pub postgres: Vec<ServerUrl>,
    pub from: Vec<ServerUrl>,
    pub to: Vec<ServerUrl>,
}

impl DatabaseArgs {
    pub fn read(&self) -> Result<Databases, CommandError> {
        let from =
            config::databases(POSTGRES.option, &POSTGRES.text(self.in_use.postgres_url_file.as_ref())?);
        let to = config::databases(TO_POSTGRES, &text_of(TO_POSTGRES, &self.to_postgres_url_file)?);
        let redis = config::redis_servers(REDIS.option, &REDIS.text(self.in_use.redis_url_file.as_ref())?);
        let usage = CommandError::usage;
        let lists =
            Databases { redis: redis.map_err(usage)?, from: from.map_err(usage)?, to: to.map_err(usage)? };
        match lists.first_difference() {
            None if lists.from.len() == lists.to.len() => {
                Err(CommandError::Usage("the two lists of databases are the same".to_owned()))
            }
            None => Ok(lists),
            Some(place) => Err(CommandError::Usage(format!(
                "database {} is another in the two lists: they grow and shrink at their end only",
                place + 1
            ))),
        }
    }
}

impl Databases {
    /// The list that has all of them.
    pub fn longer(&self) -> &[ServerUrl] {
        if self.from.len() > self.to.len() { &self.from } else { &self.to }
    }

    fn first_difference(&self) -> Option<usize> {
        self.from.iter().zip(&self.to).position(|(old, new)| old.as_str() != new.as_str())
    }
}

impl HotArgs {
    pub fn read(&self) -> Result<Hot, CommandError> {
        let usage = CommandError::usage;
        let postgres = POSTGRES.text(self.in_use.postgres_url_file.as_ref())?;
        let from = REDIS.text(self.in_use.redis_url_file.as_ref())?;
        let to = text_of(TO_REDIS, &self.to_redis_url_file)?;
        Ok(Hot {
            postgres: config::databases(POSTGRES.option, &postgres).map_err(usage)?,
            from: config::redis_servers(REDIS.option, &from).map_err(usage)?,
            to: config::redis_servers(TO_REDIS, &to).map_err(usage)?,
        })
    }
}

impl Source {
    fn text(&self, file: Option<&PathBuf>) -> Result<String, CommandError> {
        let Source { environment, option } = self;
        match file {
            Some(file) => text_of(option, file),
            None => std::env::var(environment)
                .map_err(|_| CommandError::Usage(format!("set {environment} or give {option}"))),
        }
    }
}

fn text_of(option: &str, file: &Path) -> Result<String, CommandError> {
    let mut text = String::new();
    File::open(file)
        .and_then(|opened| opened.take(CONFIG_BYTES_MAX).read_to_string(&mut text))
        .map_err(|why| CommandError::Usage(format!("{option} {}: {why}", file.display())))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(from: &str, to: &str) -> Result<Databases, CommandError> {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            file
        };
        let in_use = InUse {
            postgres_url_file: Some(file("from", from)),
            redis_url_file: Some(file("redis", "redis://r\n")),
        };
        DatabaseArgs { in_use, to_postgres_url_file: file("to", to) }.read()
    }

    const A: &str = "postgres://u:SECRET@a/x";
    const B: &str = "postgres://u:SECRET@b/x";

    #[test]
    fn one_list_begins_with_the_other() {
        let both = format!("{A},{B}\n");
        for (from, to) in [(A, both.as_str()), (both.as_str(), A)] {
            let lists = read(from, to).unwrap();
            assert_eq!(lists.longer().len(), 2);
        }
    }

    #[test]
    fn other_lists_are_refused_and_not_shown() {
        let reversed = format!("{B},{A}");
        for (from, to, words) in [(A, A, "the same"), (A, reversed.as_str(), "database 1 is another")] {
            let message = read(from, to).unwrap_err().to_string();
            assert!(message.contains(words) && !message.contains("SECRET"), "{message}");
        }
    }
}
