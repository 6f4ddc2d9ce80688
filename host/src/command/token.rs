//! `im token`: a token for a user, signed with the key of a data folder or a given one.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use super::CommandError;
use crate::auth::{self, Grant, Scope, SigningKey};
use crate::data::DataFolder;
use crate::limits::{CONFIG_BYTES_MAX, TOKEN_LIFE_DEFAULT};
use crate::output;

#[derive(clap::Args)]
pub struct Args {
    /// Tenant the token is for
    #[arg(long, value_name = "T")]
    tenant: String,
    /// User the token is for
    #[arg(long, value_name = "U")]
    user: String,
    /// Device of the user, for the routes that keep a position per device
    #[arg(long, value_name = "D")]
    device: Option<String>,
    /// What the token allows
    #[arg(long, value_enum, default_value = "user")]
    scope: Scope,
    /// Life of the token in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = TOKEN_LIFE_DEFAULT.as_secs(),
          value_parser = clap::value_parser!(u64).range(1..))]
    ttl: u64,
    /// Data folder whose key signs; made, with a key, when absent
    #[arg(long, value_name = "DIR", default_value = ".im")]
    data: PathBuf,
    /// Key that signs instead: a JWK or JWK Set, a secret of at least 32 bytes, or @FILE with one
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub fn run(args: Args) -> Result<(), CommandError> {
    let key = signing_key(&args)?;
    let grant = Grant {
        tenant: &args.tenant,
        user: &args.user,
        device: args.device.as_deref(),
        scope: args.scope,
        life: Duration::from_secs(args.ttl),
    };
    output::line(&auth::mint(&key, &grant).map_err(CommandError::failed)?);
    Ok(())
}

fn signing_key(args: &Args) -> Result<SigningKey, CommandError> {
    let Some(given) = &args.key else {
        let data = DataFolder::open(&args.data).map_err(CommandError::failed)?;
        let set = auth::load_or_create(&data.keys_file()).map_err(CommandError::failed)?;
        return SigningKey::parse(&set).map_err(CommandError::failed);
    };
    let text = match given.strip_prefix('@') {
        Some(file) => read(file)?,
        None => given.clone(),
    };
    SigningKey::parse(&text).map_err(|e| CommandError::Usage(format!("--key: {e}")))
}

fn read(file: &str) -> Result<String, CommandError> {
    let mut text = String::new();
    File::open(file)
        .and_then(|f| f.take(CONFIG_BYTES_MAX).read_to_string(&mut text))
        .map_err(|e| CommandError::Usage(format!("--key @{file}: {e}")))?;
    Ok(text)
}
