//! Passwords of the servers, so that other users of this machine stay out.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::ServersError;

/// Bytes of a password: beyond guessing.
const BYTES: usize = 24;
/// Only the owner reads it.
const MODE: u32 = 0o600;

/// The password in a file, which is made when it is absent. Its characters need no quoting anywhere.
pub fn load_or_create(file: &Path) -> Result<String, ServersError> {
    if let Ok(text) = std::fs::read_to_string(file)
        && !text.is_empty()
    {
        return Ok(text);
    }
    let mut bytes = [0; BYTES];
    let no_random =
        |e: getrandom::Error| ServersError::io("no random numbers")(io::Error::other(e.to_string()));
    getrandom::fill(&mut bytes).map_err(no_random)?;
    let secret = URL_SAFE_NO_PAD.encode(bytes);
    write_private(file, &secret)?;
    Ok(secret)
}

/// Writes a file that only the owner can read.
pub fn write_private(file: &Path, text: &str) -> Result<(), ServersError> {
    let write = || {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(MODE).open(file)?;
        file.write_all(text.as_bytes())
    };
    write().map_err(ServersError::io(format!("cannot write {}", file.display())))
}
