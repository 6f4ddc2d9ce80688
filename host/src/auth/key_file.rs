//! The key file of a data folder: made once, by whoever comes first, and never written again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::limits::{CONFIG_BYTES_MAX, KEY_BYTES};

/// Only the owner reads a signing key.
const KEY_FILE_MODE: u32 = 0o600;
/// Random bytes in a key's name: enough that two folders' keys differ.
const KID_BYTES: usize = 8;

/// The signing keys of a data folder cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("cannot read the signing keys in {file}: {source}")]
    Read { file: PathBuf, source: io::Error },
    #[error("cannot make signing keys in {file}: {source}")]
    Make { file: PathBuf, source: io::Error },
    #[error("the system gives no random bytes for a signing key: {0}")]
    Random(getrandom::Error),
}

/// The JWK Set in `file`. When there is none, one with a fresh random key is made first; several
/// processes may do so at once, and all of them then read the same one.
pub fn load_or_create(file: &Path) -> Result<String, KeyFileError> {
    match read(file) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        result => return result.map_err(|source| KeyFileError::Read { file: file.into(), source }),
    }
    create(file, &fresh_set()?).map_err(|source| KeyFileError::Make { file: file.into(), source })?;
    read(file).map_err(|source| KeyFileError::Read { file: file.into(), source })
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(CONFIG_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// Writes a whole file under a name of its own and then links it to the final one: that fails when
/// the final one exists, and nobody ever sees a file half written.
fn create(file: &Path, text: &str) -> io::Result<()> {
    let draft = file.with_extension(format!("{}.tmp", std::process::id()));
    let written = write_new(&draft, text);
    let linked = written.and_then(|()| fs::hard_link(&draft, file));
    let _ = fs::remove_file(&draft);
    match linked {
        // Another process was first: its keys are the ones.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && file.exists() => Ok(()),
        result => result,
    }
}

fn write_new(draft: &Path, text: &str) -> io::Result<()> {
    // A draft under this name can only be the remains of a process that was killed here.
    let _ = fs::remove_file(draft);
    let mut out = OpenOptions::new().write(true).create_new(true).mode(KEY_FILE_MODE).open(draft)?;
    out.write_all(text.as_bytes())?;
    out.sync_all()
}

fn fresh_set() -> Result<String, KeyFileError> {
    let mut secret = [0; KEY_BYTES];
    let mut kid = [0; KID_BYTES];
    getrandom::fill(&mut secret).map_err(KeyFileError::Random)?;
    getrandom::fill(&mut kid).map_err(KeyFileError::Random)?;
    let set = serde_json::json!({ "keys": [{
        "kty": "oct",
        "alg": "HS256",
        "kid": URL_SAFE_NO_PAD.encode(kid),
        "k": URL_SAFE_NO_PAD.encode(secret),
    }] });
    Ok(format!("{set}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::SigningKey;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn made_once_private_and_usable() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("keys.json");
        let first = load_or_create(&file).unwrap();
        assert_eq!(load_or_create(&file).unwrap(), first);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, KEY_FILE_MODE);
        SigningKey::parse(&first).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn whoever_loses_the_race_takes_the_winners_keys() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("keys.json");
        create(&file, "winner").unwrap();
        create(&file, "loser").unwrap();
        assert_eq!(load_or_create(&file).unwrap(), "winner");
    }

    #[test]
    fn two_folders_never_share_a_key() {
        assert_ne!(fresh_set().unwrap(), fresh_set().unwrap());
    }
}
