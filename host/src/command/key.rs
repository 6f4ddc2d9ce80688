//! The key that signs a command's tokens: that of a data folder, or a given one.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use super::CommandError;
use crate::auth::{self, SigningKey};
use crate::data::DataFolder;
use crate::limits::CONFIG_BYTES_MAX;

#[derive(clap::Args)]
pub struct KeyOptions {
    /// Data folder whose key signs; made, with a key, when absent
    #[arg(long, value_name = "DIR", default_value = ".im")]
    data: PathBuf,
    /// Key that signs instead: a JWK or JWK Set, a secret of at least 32 bytes, or @FILE with one
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

impl KeyOptions {
    /// The key; a data folder without one gets one.
    pub fn signing_key(&self) -> Result<SigningKey, CommandError> {
        let Some(given) = &self.key else {
            let data = DataFolder::open(&self.data).map_err(CommandError::failed)?;
            let set = auth::load_or_create(&data.keys_file()).map_err(CommandError::failed)?;
            return SigningKey::parse(&set).map_err(CommandError::failed);
        };
        let text = match given.strip_prefix('@') {
            Some(file) => read(file)?,
            None => given.clone(),
        };
        SigningKey::parse(&text).map_err(|e| CommandError::Usage(format!("--key: {e}")))
    }
}

fn read(file: &str) -> Result<String, CommandError> {
    let mut text = String::new();
    File::open(file)
        .and_then(|f| f.take(CONFIG_BYTES_MAX).read_to_string(&mut text))
        .map_err(|e| CommandError::Usage(format!("--key @{file}: {e}")))?;
    Ok(text)
}
