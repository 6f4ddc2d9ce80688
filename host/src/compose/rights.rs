//! Which right each import needs.

use super::ComposeError;
use crate::manifest::{Capability, Dependency};

/// Packages and interfaces that a right opens. WASI's own interfaces are not here on purpose: this
/// host gives no component files, environment or sockets, so there is nothing to inherit.
const NEEDS: [(&str, Capability); 8] = [
    ("spin:variables/", Capability::Variables),
    ("spin:sqlite/", Capability::SqliteDatabases),
    ("spin:redis/", Capability::AllowedOutboundHosts),
    ("spin:postgres/", Capability::AllowedOutboundHosts),
    ("spin:mysql/", Capability::AllowedOutboundHosts),
    ("spin:mqtt/", Capability::AllowedOutboundHosts),
    ("wasi:http/client", Capability::AllowedOutboundHosts),
    ("wasi:http/outgoing-handler", Capability::AllowedOutboundHosts),
];

/// Refuses a dependency that imports what it has not inherited.
pub fn check(dependency: &Dependency, imports: &[String]) -> Result<(), ComposeError> {
    for import in imports {
        if let Some(capability) = needed_by(import)
            && !dependency.inherit.allows(capability)
        {
            return Err(ComposeError::NotInherited {
                name: dependency.name.to_string(),
                import: import.clone(),
                key: capability.key(),
            });
        }
    }
    Ok(())
}

fn needed_by(import: &str) -> Option<Capability> {
    NEEDS.iter().find(|(prefix, _)| import.starts_with(prefix)).map(|(_, capability)| *capability)
}
