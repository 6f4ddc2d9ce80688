//! The app that a manifest describes, checked: what the rest of the host works with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::Value;

use super::dependency::Dependency;
use super::outbound;
use super::raw;
use super::route::{Route, RouteKind};
use super::schedule::{self, ScheduleLine};
use super::template::Template;

/// The table under `tool` that is ours.
const TOOL: &str = "im";
/// The only SQLite database there is.
const SQLITE_DEFAULT: &str = "default";

/// A checked manifest with its profile applied.
#[derive(Debug, Clone)]
pub struct App {
    pub name: String,
    pub variables: BTreeMap<String, Variable>,
    pub routes: Vec<Route>,
    pub components: BTreeMap<String, Component>,
    /// The variable that holds the JWK Set; the data folder's keys stand in for it.
    pub signing_keys: Option<String>,
}

/// A variable of the application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// `None`: a value is required.
    pub default: Option<String>,
    /// Whether the value must never be shown.
    pub secret: bool,
}

/// A component and its rights.
#[derive(Debug, Clone)]
pub struct Component {
    pub source: PathBuf,
    pub sqlite_databases: BTreeSet<String>,
    /// Rules of [`outbound`], without the values of their variables.
    pub allowed_outbound_hosts: Vec<Template>,
    pub variables: BTreeMap<String, Template>,
    pub dependencies: Vec<Dependency>,
    /// When the host itself calls the component.
    pub schedule: Vec<ScheduleLine>,
}

impl App {
    pub(super) fn from_raw(raw: raw::Manifest, folder: &Path, profile: Option<&str>) -> Result<Self, String> {
        let tool: raw::ApplicationTool = own_table(&raw.application.tool, "application")?;
        let app = Self {
            name: raw.application.name,
            variables: variables(raw.variables)?,
            routes: routes(raw.trigger.http, &raw.component)?,
            components: components(raw.component, folder, profile)?,
            signing_keys: tool.signing_keys,
        };
        app.check_names()?;
        Ok(app)
    }

    /// Every variable that is named must exist.
    fn check_names(&self) -> Result<(), String> {
        if let Some(name) = &self.signing_keys
            && !self.variables.contains_key(name)
        {
            return Err(format!("application.tool.{TOOL}.signing_keys: no variable `{name}`"));
        }
        for (id, component) in &self.components {
            let templates = component.variables.values().chain(&component.allowed_outbound_hosts);
            let mut named = templates.flat_map(Template::variables);
            if let Some(name) = named.find(|name| !self.variables.contains_key(*name)) {
                return Err(format!("component `{id}`: no variable `{name}` in [variables]"));
            }
        }
        Ok(())
    }

    /// Leaves only the named components, and the routes to them.
    pub fn retain(&mut self, wanted: &[String]) -> Result<(), String> {
        if wanted.is_empty() {
            return Ok(());
        }
        if let Some(missing) = wanted.iter().find(|id| !self.components.contains_key(*id)) {
            let ids: Vec<&str> = self.components.keys().map(String::as_str).collect();
            return Err(format!("no component `{missing}`; there are {}", ids.join(", ")));
        }
        self.components.retain(|id, _| wanted.contains(id));
        self.routes.retain(|route| wanted.contains(&route.component));
        Ok(())
    }
}

fn variables(raw: BTreeMap<String, raw::Variable>) -> Result<BTreeMap<String, Variable>, String> {
    raw.into_iter()
        .map(|(name, variable)| {
            if variable.required == variable.default.is_some() {
                return Err(format!("variable `{name}` must have either `required = true` or a default"));
            }
            let secret = variable.secret;
            Ok((name, Variable { default: variable.default, secret }))
        })
        .collect()
}

fn routes(
    raw: Vec<raw::HttpTrigger>,
    components: &BTreeMap<String, raw::Component>,
) -> Result<Vec<Route>, String> {
    let mut seen = BTreeSet::new();
    raw.into_iter()
        .map(|trigger| {
            let kind = RouteKind::parse(&trigger.route)?;
            if !components.contains_key(&trigger.component) {
                return Err(format!("route `{}`: no component `{}`", trigger.route, trigger.component));
            }
            if !seen.insert(kind.clone()) {
                return Err(format!("route `{}` is given twice", trigger.route));
            }
            Ok(Route { kind, component: trigger.component })
        })
        .collect()
}

fn components(
    raw: BTreeMap<String, raw::Component>,
    folder: &Path,
    profile: Option<&str>,
) -> Result<BTreeMap<String, Component>, String> {
    raw.into_iter()
        .map(|(id, component)| {
            let component = Component::from_raw(component, folder, profile)
                .map_err(|problem| format!("component `{id}`: {problem}"))?;
            Ok((id, component))
        })
        .collect()
}

impl Component {
    fn from_raw(mut raw: raw::Component, folder: &Path, profile: Option<&str>) -> Result<Self, String> {
        if let Some(chosen) = profile.and_then(|name| raw.profile.remove(name)) {
            // As Spin does it: what the profile names replaces, the rest stays.
            raw.source = chosen.source.unwrap_or(raw.source);
            raw.dependencies.extend(chosen.dependencies);
        }
        if let Some(name) = raw.sqlite_databases.iter().find(|name| *name != SQLITE_DEFAULT) {
            return Err(format!("sqlite_databases `{name}`: only `{SQLITE_DEFAULT}` is supported"));
        }
        let tool: raw::ComponentTool = own_table(&raw.tool, "component")?;
        let schedule = schedule::lines(tool.schedule);
        Ok(Self {
            source: folder.join(raw.source),
            sqlite_databases: raw.sqlite_databases.into_iter().collect(),
            allowed_outbound_hosts: outbound::entries(&raw.allowed_outbound_hosts)?,
            variables: templates(raw.variables)?,
            dependencies: raw
                .dependencies
                .iter()
                .map(|(name, value)| Dependency::from_raw(name, value, folder))
                .collect::<Result<_, _>>()?,
            schedule: schedule.map_err(|e| format!("tool.{TOOL}.schedule: {e}"))?,
        })
    }
}

fn templates(raw: BTreeMap<String, String>) -> Result<BTreeMap<String, Template>, String> {
    raw.into_iter()
        .map(|(name, text)| match Template::parse(&text) {
            Ok(template) => Ok((name, template)),
            Err(problem) => Err(format!("variable `{name}`: {problem}")),
        })
        .collect()
}

fn own_table<T>(tool: &BTreeMap<String, Value>, place: &str) -> Result<T, String>
where
    T: DeserializeOwned + Default,
{
    let Some(table) = tool.get(TOOL) else {
        return Ok(T::default());
    };
    T::deserialize(table.clone()).map_err(|e| {
        let problem = e.message().lines().next().unwrap_or_default();
        format!("{place}.tool.{TOOL}: {problem}")
    })
}
