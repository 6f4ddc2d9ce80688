//! Dependencies of a component: which file answers which of its imports, and with which rights.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Value;

use super::raw;

/// A component that answers imports of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    pub name: DependencyName,
    pub path: PathBuf,
    pub inherit: Inherit,
}

/// What a dependency answers: every import of a package, or one interface of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyName {
    text: String,
    package: String,
    interface: Option<String>,
    version: Option<String>,
}

/// Rights of the component that its dependency shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inherit {
    All,
    Only(BTreeSet<Capability>),
}

/// A right that a component is given in the manifest, by the name of its key there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    AllowedOutboundHosts,
    SqliteDatabases,
    Variables,
}

impl Capability {
    /// Every capability there is here.
    pub const ALL: [Self; 3] = [Self::AllowedOutboundHosts, Self::SqliteDatabases, Self::Variables];

    /// The manifest's key.
    pub fn key(self) -> &'static str {
        match self {
            Self::AllowedOutboundHosts => "allowed_outbound_hosts",
            Self::SqliteDatabases => "sqlite_databases",
            Self::Variables => "variables",
        }
    }
}

impl Inherit {
    /// Whether a right is shared.
    pub fn allows(&self, capability: Capability) -> bool {
        match self {
            Self::All => true,
            Self::Only(set) => set.contains(&capability),
        }
    }
}

impl DependencyName {
    /// Reads `package:name`, with `/interface` and `@version` as wanted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (path, version) = match text.split_once('@') {
            Some((path, version)) => (path, Some(version.to_owned())),
            None => (text, None),
        };
        let (package, interface) = match path.split_once('/') {
            Some((package, interface)) => (package, Some(interface.to_owned())),
            None => (path, None),
        };
        let parts: Vec<&str> = package.split(':').collect();
        if parts.len() != 2 || parts.iter().any(|part| part.is_empty()) {
            return Err(format!(
                "dependency `{text}` must be named by a package or an interface, such as `im:storage@0.1.0`"
            ));
        }
        Ok(Self { text: text.to_owned(), package: package.to_owned(), interface, version })
    }

    /// Whether an import, named `package:name/interface@version`, is meant.
    pub fn matches(&self, import: &str) -> bool {
        let Ok(import) = Self::parse(import) else {
            return false;
        };
        let same = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        self.package == import.package
            && same(&self.interface, &import.interface)
            && same(&self.version, &import.version)
    }
}

impl std::fmt::Display for DependencyName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Dependency {
    pub(super) fn from_raw(name: &str, value: &Value, folder: &Path) -> Result<Self, String> {
        let wrong = |problem: &str| format!("dependency `{name}`: {problem}");
        let Some(table) = value.as_table() else {
            return Err(wrong("a version from a registry is not supported, only { path = … }"));
        };
        if !table.contains_key("path") {
            let found = table.keys().next().map_or("nothing", String::as_str);
            return Err(wrong(&format!("`{found}` is not supported, only {{ path = … }}")));
        }
        let local = raw::LocalDependency::deserialize(value.clone())
            .map_err(|e| wrong(e.message().lines().next().unwrap_or_default()))?;
        Ok(Self {
            name: DependencyName::parse(name)?,
            path: folder.join(local.path),
            inherit: inherit(local.inherit_configuration).map_err(|e| wrong(&e))?,
        })
    }
}

fn inherit(raw: Option<raw::InheritConfiguration>) -> Result<Inherit, String> {
    let names = match raw {
        Some(raw::InheritConfiguration::All(true)) => return Ok(Inherit::All),
        Some(raw::InheritConfiguration::All(false)) | None => Vec::new(),
        Some(raw::InheritConfiguration::Some(names)) => names,
    };
    let known = |name: String| {
        Capability::ALL
            .into_iter()
            .find(|capability| capability.key() == name)
            .ok_or_else(|| format!("inherit_configuration `{name}` is not supported"))
    };
    Ok(Inherit::Only(names.into_iter().map(known).collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_means_all_of_its_interfaces() {
        let matches = |name: &str, import: &str| DependencyName::parse(name).unwrap().matches(import);
        assert!(matches("im:storage@0.1.0", "im:storage/messages@0.1.0"));
        assert!(matches("im:storage", "im:storage/messages@0.1.0"));
        assert!(matches("im:storage/messages@0.1.0", "im:storage/messages@0.1.0"));
        assert!(!matches("im:storage@0.1.0", "im:storage/messages@0.2.0"));
        assert!(!matches("im:storage@0.1.0", "im:storage/messages"));
        assert!(!matches("im:storage/upkeep", "im:storage/messages@0.1.0"));
        assert!(!matches("im:storage", "im:store/messages@0.1.0"));
        assert!(!matches("im:storage", "plain-name"));
    }

    #[test]
    fn plain_names_are_refused() {
        for bad in ["storage", "", ":x", "a:", "a:b:c"] {
            assert!(DependencyName::parse(bad).is_err(), "{bad:?}");
        }
    }
}
