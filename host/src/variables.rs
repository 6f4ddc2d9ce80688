//! Values of the app's variables, from where they may come, in order of precedence.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::limits::CONFIG_BYTES_MAX;
use crate::manifest::App;

/// Spin reads variables from the environment under the same prefix.
const ENVIRONMENT_PREFIX: &str = "SPIN_VARIABLE_";

/// Values that a person gave on the command line; wrong ones are wrong use.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    #[error("--var `{0}` must have the form NAME=VALUE")]
    Form(String),
    #[error("--var {0}: the manifest has no such variable")]
    UnknownVar(String),
    #[error("--var-file {file}: {source}")]
    Read { file: String, source: io::Error },
    #[error("--var-file {file}: {problem}")]
    Syntax { file: String, problem: String },
}

/// A variable without which the app cannot start.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "variable `{name}` has no value: give --var {name}=…, set {ENVIRONMENT_PREFIX}{upper}, or put it in a --var-file"
)]
pub struct MissingValue {
    name: String,
    upper: String,
}

/// The sources of values, first one first.
#[derive(Debug, Default)]
pub struct Sources {
    pub command_line: BTreeMap<String, String>,
    pub environment: BTreeMap<String, String>,
    pub file: BTreeMap<String, String>,
    /// What stands in for a variable that nobody set: the data folder's signing keys.
    pub stand_in: BTreeMap<String, String>,
}

impl Sources {
    /// The value that the sources give a variable, before its default.
    fn get(&self, name: &str) -> Option<&String> {
        [&self.command_line, &self.environment, &self.file, &self.stand_in]
            .into_iter()
            .find_map(|source| source.get(name))
    }

    /// Whether a person set the variable.
    pub fn is_given(&self, name: &str) -> bool {
        [&self.command_line, &self.environment, &self.file]
            .into_iter()
            .any(|source| source.contains_key(name))
    }

    /// A value for every variable of the app.
    pub fn resolve(&self, app: &App) -> Result<BTreeMap<String, String>, MissingValue> {
        app.variables
            .iter()
            .map(|(name, variable)| {
                let value = self
                    .get(name)
                    .or(variable.default.as_ref())
                    .ok_or_else(|| MissingValue { name: name.clone(), upper: name.to_uppercase() })?;
                Ok((name.clone(), value.clone()))
            })
            .collect()
    }
}

/// Reads `NAME=VALUE` options.
pub fn from_options(options: &[String], app: &App) -> Result<BTreeMap<String, String>, GivenError> {
    options
        .iter()
        .map(|option| {
            // The value may be a secret, so an error shows the name alone.
            let (name, value) = option.split_once('=').ok_or_else(|| {
                GivenError::Form(option.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
            })?;
            if !app.variables.contains_key(name) {
                return Err(GivenError::UnknownVar(name.to_owned()));
            }
            Ok((name.to_owned(), value.to_owned()))
        })
        .collect()
}

/// Reads the app's variables from an environment.
pub fn from_environment(
    environment: impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
    app: &App,
) -> BTreeMap<String, String> {
    let text: BTreeMap<String, String> = environment
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    app.variables
        .keys()
        .filter_map(|name| {
            let value = text.get(&format!("{ENVIRONMENT_PREFIX}{}", name.to_uppercase()))?;
            Some((name.clone(), value.clone()))
        })
        .collect()
}

/// Reads a TOML file of `name = "value"` lines.
pub fn from_file(file: &Path, app: &App) -> Result<BTreeMap<String, String>, GivenError> {
    let name = file.display().to_string();
    let mut text = String::new();
    File::open(file)
        .and_then(|f| f.take(CONFIG_BYTES_MAX).read_to_string(&mut text))
        .map_err(|source| GivenError::Read { file: name.clone(), source })?;
    let syntax = |problem: String| GivenError::Syntax { file: name.clone(), problem };
    // The parser's message may quote a line with a secret in it: say only where.
    let values: BTreeMap<String, toml::Value> = toml::from_str(&text).map_err(|e| {
        let before = text.get(..e.span().map_or(0, |s| s.start)).unwrap_or_default();
        syntax(format!("line {} is not TOML of the form name = \"value\"", before.matches('\n').count() + 1))
    })?;
    values
        .into_iter()
        .map(|(key, value)| match value {
            toml::Value::String(value) if app.variables.contains_key(&key) => Ok((key, value)),
            toml::Value::String(_) => Err(syntax(format!("the manifest has no variable `{key}`"))),
            _ => Err(syntax(format!("the value of `{key}` must be a string"))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest;

    fn app() -> App {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("spin.toml");
        let text = "spin_manifest_version = 2\n[application]\nname = \"x\"\n[variables]\n\
                    a = { default = \"default\" }\nkey = { required = true, secret = true }\n";
        std::fs::write(&file, text).unwrap();
        manifest::load(&file, None).unwrap()
    }

    fn one(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn the_first_source_wins() {
        let mut sources = Sources { stand_in: one("key", "k"), ..Sources::default() };
        let value = |sources: &Sources| sources.resolve(&app()).unwrap()["a"].clone();
        assert_eq!(value(&sources), "default");
        sources.stand_in.insert("a".into(), "stand-in".into());
        assert_eq!(value(&sources), "stand-in");
        assert!(!sources.is_given("a"));
        sources.file = one("a", "file");
        assert_eq!(value(&sources), "file");
        sources.environment = one("a", "environment");
        assert_eq!(value(&sources), "environment");
        sources.command_line = one("a", "command line");
        assert_eq!(value(&sources), "command line");
        assert!(sources.is_given("a"));
    }

    #[test]
    fn a_missing_value_says_how_to_give_it() {
        let message = Sources::default().resolve(&app()).unwrap_err().to_string();
        assert!(message.contains("--var key=") && message.contains("SPIN_VARIABLE_KEY"), "{message}");
    }

    #[test]
    fn options() {
        let read = |text: &str| from_options(&[text.to_owned()], &app());
        assert_eq!(read("a=b=c").unwrap(), one("a", "b=c"));
        assert_eq!(read("a=").unwrap(), one("a", ""));
        assert!(matches!(read("a"), Err(GivenError::Form(_))));
        assert!(matches!(read("b=1"), Err(GivenError::UnknownVar(_))));
    }

    #[test]
    fn environment() {
        let env = [("SPIN_VARIABLE_A", "1"), ("SPIN_VARIABLE_OTHER", "2"), ("A", "3")];
        let env = env.into_iter().map(|(k, v)| (k.into(), v.into()));
        assert_eq!(from_environment(env, &app()), one("a", "1"));
    }

    #[test]
    fn file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("vars.toml");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            from_file(&file, &app()).map_err(|e| e.to_string())
        };
        assert_eq!(read("a = \"1\"").unwrap(), one("a", "1"));
        assert!(read("a = 1").unwrap_err().contains("must be a string"));
        assert!(read("b = \"1\"").unwrap_err().contains("no variable `b`"));
        let message = read("\nkey = SECRET").unwrap_err();
        assert!(message.contains("line 2") && !message.contains("SECRET"), "{message}");
        assert!(from_file(&dir.path().join("absent"), &app()).is_err());
    }
}
