//! `im token`: a token for a user, signed with the key of a data folder or a given one.

use std::time::Duration;

use super::CommandError;
use super::key::KeyOptions;
use crate::auth::{self, Grant, Scope};
use crate::limits::TOKEN_LIFE_DEFAULT;
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
    #[command(flatten)]
    key: KeyOptions,
}

pub fn run(args: Args) -> Result<(), CommandError> {
    let key = args.key.signing_key()?;
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
