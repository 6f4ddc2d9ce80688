//! The manifest as written. Unknown keys are errors: silence would mean something else under Spin.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub spin_manifest_version: i64,
    pub application: Application,
    #[serde(default)]
    pub variables: BTreeMap<String, Variable>,
    #[serde(default)]
    pub trigger: Triggers,
    #[serde(default)]
    pub component: BTreeMap<String, Component>,
}

impl Manifest {
    /// Whether any component has a profile of this name.
    pub fn has_profile(&self, name: &str) -> bool {
        let mut components = self.component.values();
        components.any(|component| component.profile.contains_key(name))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    pub name: String,
    #[serde(default, rename = "version")]
    _version: String,
    #[serde(default, rename = "description")]
    _description: String,
    #[serde(default, rename = "authors")]
    _authors: Vec<String>,
    /// Other tools' tables are none of our business; `im` reads its own.
    #[serde(default)]
    pub tool: BTreeMap<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplicationTool {
    pub signing_keys: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    #[serde(default)]
    pub required: bool,
    pub default: Option<String>,
    #[serde(default)]
    pub secret: bool,
    #[serde(default, rename = "description")]
    _description: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triggers {
    #[serde(default)]
    pub http: Vec<HttpTrigger>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpTrigger {
    #[serde(default, rename = "id")]
    _id: Option<String>,
    pub route: String,
    pub component: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    pub source: String,
    #[serde(default, rename = "description")]
    _description: String,
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    #[serde(default)]
    pub allowed_outbound_hosts: Vec<String>,
    #[serde(default)]
    pub sqlite_databases: Vec<String>,
    #[serde(default)]
    pub dependencies: BTreeMap<String, Value>,
    #[serde(default)]
    pub profile: BTreeMap<String, Profile>,
    /// How to build is for `spin build` and `cargo xtask build`.
    #[serde(default, rename = "build")]
    _build: Option<Value>,
    #[serde(default)]
    pub tool: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub source: Option<String>,
    #[serde(default)]
    pub dependencies: BTreeMap<String, Value>,
    #[serde(default, rename = "build")]
    _build: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComponentTool {
    pub schedule: Option<Schedule>,
}

/// How often the host calls a component: for all there is to do, or for some tasks each.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "schedule must be an interval, or a list of { every = …, tasks = … }")]
pub enum Schedule {
    Whole(String),
    Parts(Vec<SchedulePart>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchedulePart {
    pub every: String,
    /// All if not given.
    pub tasks: Option<Vec<String>>,
}

/// A dependency on a file; other kinds are refused before this is read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalDependency {
    pub path: String,
    #[serde(default)]
    pub inherit_configuration: Option<InheritConfiguration>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum InheritConfiguration {
    All(bool),
    Some(Vec<String>),
}
