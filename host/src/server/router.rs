//! Which component answers a path: an exact route first, then the longest `/...` above the path.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::manifest::{Route, RouteKind};
use crate::runtime::RunningComponent;

/// Routes with what they lead to.
pub struct Router<T = Arc<RunningComponent>> {
    exact: BTreeMap<String, T>,
    /// Longest prefix first.
    below: Vec<(String, T)>,
}

impl<T: Clone> Router<T> {
    /// A router over the routes whose component is there.
    pub fn new(routes: &[Route], components: &BTreeMap<String, T>) -> Self {
        let mut router = Self { exact: BTreeMap::new(), below: Vec::new() };
        for route in routes {
            let Some(target) = components.get(&route.component) else {
                continue;
            };
            match &route.kind {
                RouteKind::Exact(path) => {
                    router.exact.insert(trim(path).to_owned(), target.clone());
                }
                RouteKind::Below(prefix) => {
                    router.below.push((trim(prefix).to_owned(), target.clone()));
                }
            }
        }
        router.below.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        router
    }

    /// The target for a path.
    pub fn find(&self, path: &str) -> Option<&T> {
        let path = trim(path);
        if let Some(target) = self.exact.get(path) {
            return Some(target);
        }
        let above = |prefix: &str| {
            path.strip_prefix(prefix)
                .is_some_and(|rest| prefix.is_empty() || rest.is_empty() || rest.starts_with('/'))
        };
        let found = self.below.iter().find(|(prefix, _)| above(prefix));
        found.map(|(_, target)| target)
    }
}

/// As Spin does: slashes at either end make no difference.
fn trim(path: &str) -> &str {
    path.trim_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(routes: &[&str], path: &str) -> Option<String> {
        let targets: BTreeMap<String, String> =
            routes.iter().map(|r| ((*r).to_owned(), (*r).to_owned())).collect();
        let routes: Vec<Route> = routes
            .iter()
            .map(|r| Route { kind: RouteKind::parse(r).unwrap(), component: (*r).to_owned() })
            .collect();
        Router::new(&routes, &targets).find(path).cloned()
    }

    #[test]
    fn exact_before_wildcards_and_long_before_short() {
        let routes = ["/...", "/api/...", "/api/msg/...", "/api/msg/send", "/api"];
        let finds = |path: &str| find(&routes, path).unwrap();
        assert_eq!(finds("/api/msg/send"), "/api/msg/send");
        assert_eq!(finds("/api/msg/send/"), "/api/msg/send");
        assert_eq!(finds("/api/msg/pull"), "/api/msg/...");
        assert_eq!(finds("/api/msg"), "/api/msg/...");
        assert_eq!(finds("/api/msgs"), "/api/...");
        assert_eq!(finds("/api"), "/api");
        assert_eq!(finds("/"), "/...");
        assert_eq!(finds("/else"), "/...");
    }

    #[test]
    fn nothing_else_is_found() {
        assert_eq!(find(&["/api/msg/send"], "/api/msg"), None);
        assert_eq!(find(&["/api/..."], "/apix"), None);
        assert_eq!(find(&["/api/..."], "/"), None);
        assert_eq!(find(&[], "/"), None);
    }

    #[test]
    fn a_route_whose_component_is_absent_is_absent() {
        let routes = [Route { kind: RouteKind::Exact("/a".into()), component: "gone".into() }];
        let router: Router<String> = Router::new(&routes, &BTreeMap::new());
        assert!(router.find("/a").is_none());
    }
}
