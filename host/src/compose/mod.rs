//! Composition: a component and its dependencies become one component.
//!
//! Architecture invariant: what a dependency may do is decided here. A dependency whose imports
//! need a right that it does not inherit is refused, so a composed component never holds more than
//! the manifest says.

mod rights;

use std::io;
use std::path::{Path, PathBuf};

use wac_graph::types::{Package, SubtypeChecker, WorldId};
use wac_graph::{CompositionGraph, EncodeOptions, NodeId};

use crate::manifest::{Component, Dependency};

/// A component that cannot be put together. Each text names the component's part at fault.
#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    #[error("there is no {file}: build it with `cargo xtask build`")]
    Absent { file: PathBuf },
    #[error("cannot read {file}: {source}")]
    Read { file: PathBuf, source: io::Error },
    #[error("{file} is no component: {problem}")]
    NotComponent { file: PathBuf, problem: String },
    #[error("dependency `{name}` answers no import of the component")]
    Unneeded { name: String },
    #[error("import `{import}` is answered by two dependencies, `{first}` and `{second}`")]
    Ambiguous { import: String, first: String, second: String },
    #[error("dependency `{name}` has no export `{import}`, which the component imports")]
    NoExport { name: String, import: String },
    #[error("dependency `{name}`: its export `{import}` does not fit the component's import: {problem}")]
    Misfit { name: String, import: String, problem: String },
    #[error("dependency `{name}` imports `{import}`, but its inherit_configuration does not list `{key}`")]
    NotInherited { name: String, import: String, key: &'static str },
    #[error("cannot compose: {0}")]
    Graph(String),
}

/// Reads a component with its dependencies, and composes them.
pub fn compose(component: &Component) -> Result<Vec<u8>, ComposeError> {
    let source = read(&component.source)?;
    if component.dependencies.is_empty() {
        return Ok(source);
    }
    let mut composer = Composer::default();
    let socket = composer.add("component", &component.source, source)?;
    let mut answered: Vec<(String, &Dependency)> = Vec::new();
    for (index, dependency) in component.dependencies.iter().enumerate() {
        let imports = composer.imports_for(&socket, dependency)?;
        for import in &imports {
            if let Some((_, first)) = answered.iter().find(|(name, _)| name == import) {
                return Err(ComposeError::Ambiguous {
                    import: import.clone(),
                    first: first.name.to_string(),
                    second: dependency.name.to_string(),
                });
            }
            answered.push((import.clone(), dependency));
        }
        composer.plug(&socket, dependency, index, &imports)?;
    }
    composer.finish(&socket)
}

fn read(file: &Path) -> Result<Vec<u8>, ComposeError> {
    std::fs::read(file).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ComposeError::Absent { file: file.into() },
        _ => ComposeError::Read { file: file.into(), source },
    })
}

/// An instance in the graph, with the world it was made from.
struct Part {
    world: WorldId,
    instance: NodeId,
}

#[derive(Default)]
struct Composer {
    graph: CompositionGraph,
}

impl Composer {
    fn add(&mut self, name: &str, file: &Path, bytes: Vec<u8>) -> Result<Part, ComposeError> {
        let package = Package::from_bytes(name, None, bytes, self.graph.types_mut())
            .map_err(|e| ComposeError::NotComponent { file: file.into(), problem: format!("{e:#}") })?;
        let world = package.ty();
        let id = self.graph.register_package(package).map_err(graph_error)?;
        Ok(Part { world, instance: self.graph.instantiate(id) })
    }

    fn imports(&self, part: &Part) -> Vec<String> {
        let types = self.graph.types();
        types[part.world].imports.keys().cloned().collect()
    }

    fn imports_for(&self, socket: &Part, dependency: &Dependency) -> Result<Vec<String>, ComposeError> {
        let mut imports = self.imports(socket);
        imports.retain(|import| dependency.name.matches(import));
        if imports.is_empty() {
            return Err(ComposeError::Unneeded { name: dependency.name.to_string() });
        }
        Ok(imports)
    }

    fn plug(
        &mut self,
        socket: &Part,
        dependency: &Dependency,
        index: usize,
        imports: &[String],
    ) -> Result<(), ComposeError> {
        let bytes = read(&dependency.path)?;
        let plug = self.add(&format!("dependency-{index}"), &dependency.path, bytes)?;
        rights::check(dependency, &self.imports(&plug))?;
        for import in imports {
            self.check_fit(socket, &plug, dependency, import)?;
            let export = self.graph.alias_instance_export(plug.instance, import).map_err(graph_error)?;
            self.graph.set_instantiation_argument(socket.instance, import, export).map_err(graph_error)?;
        }
        Ok(())
    }

    fn check_fit(
        &self,
        socket: &Part,
        plug: &Part,
        dependency: &Dependency,
        import: &str,
    ) -> Result<(), ComposeError> {
        let types = self.graph.types();
        let no_export =
            || ComposeError::NoExport { name: dependency.name.to_string(), import: import.to_owned() };
        let wanted = types[socket.world].imports.get(import).ok_or_else(no_export)?;
        let offered = types[plug.world].exports.get(import).ok_or_else(no_export)?;
        let mut cache = Default::default();
        SubtypeChecker::new(&mut cache).is_subtype(*offered, types, *wanted, types).map_err(|e| {
            ComposeError::Misfit {
                name: dependency.name.to_string(),
                import: import.to_owned(),
                problem: format!("{e:#}"),
            }
        })
    }

    /// The composed component exports what the first component exports, and nothing else.
    fn finish(mut self, socket: &Part) -> Result<Vec<u8>, ComposeError> {
        let types = self.graph.types();
        let exports: Vec<String> = types[socket.world].exports.keys().cloned().collect();
        for name in exports {
            let export = self.graph.alias_instance_export(socket.instance, &name).map_err(graph_error)?;
            self.graph.export(export, &name).map_err(graph_error)?;
        }
        self.graph.encode(EncodeOptions::default()).map_err(graph_error)
    }
}

fn graph_error(error: impl std::fmt::Display) -> ComposeError {
    ComposeError::Graph(error.to_string())
}

#[cfg(test)]
mod tests;
