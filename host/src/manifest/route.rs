//! Routes: which component answers which path.

/// A route as the manifest writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub kind: RouteKind,
    pub component: String,
}

/// The two forms of a path in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RouteKind {
    /// This path and no other.
    Exact(String),
    /// `/prefix/...`: the prefix itself and everything below it.
    Below(String),
}

impl RouteKind {
    /// Reads a route; Spin's named parameters and other wildcards are refused.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (path, kind): (&str, fn(String) -> Self) = match text.strip_suffix("/...") {
            Some(prefix) => (prefix, Self::Below),
            None => (text, Self::Exact),
        };
        if !text.starts_with('/') {
            return Err(format!("route `{text}` must begin with `/`"));
        }
        if path.contains("...") || path.contains('*') || path.contains("/:") {
            return Err(format!(
                "route `{text}`: only a trailing `/...` is supported, no other wildcard or parameter"
            ));
        }
        if path.contains(['?', '#']) {
            return Err(format!("route `{text}` must be a path alone"));
        }
        Ok(kind(path.to_owned()))
    }
}
