//! Reading a manifest file, and saying where it is wrong.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::app::App;
use super::raw;
use crate::limits::CONFIG_BYTES_MAX;

/// The only version of the manifest there is today.
const MANIFEST_VERSION: i64 = 2;

/// A manifest that cannot be run. Each text is one line and names the file.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("cannot read {file}: {source}")]
    Read { file: String, source: io::Error },
    #[error("{file}, line {line}: {problem}")]
    Syntax { file: String, line: usize, problem: String },
    #[error("{file}: {problem}")]
    Meaning { file: String, problem: String },
    #[error("{file}: no component has a profile `{profile}`")]
    NoProfile { file: String, profile: String },
}

/// Reads the manifest and applies a profile to it. Paths in it are relative to the file.
pub fn load(file: &Path, profile: Option<&str>) -> Result<App, ManifestError> {
    let name = file.display().to_string();
    let mut text = String::new();
    File::open(file)
        .and_then(|f| f.take(CONFIG_BYTES_MAX).read_to_string(&mut text))
        .map_err(|source| ManifestError::Read { file: name.clone(), source })?;
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    parse(&name, &text, folder, profile)
}

pub(super) fn parse(
    name: &str,
    text: &str,
    folder: &Path,
    profile: Option<&str>,
) -> Result<App, ManifestError> {
    let manifest: raw::Manifest = toml::from_str(text).map_err(|error| ManifestError::Syntax {
        file: name.to_owned(),
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        problem: explain(error.message()),
    })?;
    let meaning = |problem| ManifestError::Meaning { file: name.to_owned(), problem };
    if manifest.spin_manifest_version != MANIFEST_VERSION {
        return Err(meaning(format!(
            "spin_manifest_version {} is not supported, only {MANIFEST_VERSION} is",
            manifest.spin_manifest_version
        )));
    }
    if let Some(profile) = profile
        && !manifest.has_profile(profile)
    {
        return Err(ManifestError::NoProfile { file: name.to_owned(), profile: profile.to_owned() });
    }
    App::from_raw(manifest, folder, profile).map_err(meaning)
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.bytes().take(offset);
    before.filter(|byte| *byte == b'\n').count() + 1
}

/// serde says "unknown field `x`, expected one of …"; for a reader the point is what we do not do.
fn explain(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    match first.strip_prefix("unknown field ") {
        Some(rest) => {
            let key = rest.split(',').next().unwrap_or(rest);
            format!("{key} is not supported here: im runs a subset of Spin's manifest")
        }
        None => first.to_owned(),
    }
}
