//! `spin.toml` sends every route to the component that answers it, and nothing else there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use im_http::routes::{Component, ROUTES};
use std::collections::BTreeSet;

const MANIFEST: &str = include_str!("../../../spin.toml");
/// Of the component that has every path that is nobody else's.
const ALL_OTHERS: (&str, &str) = ("/...", "archive");

/// What the manifest's HTTP triggers say: routes, each with its component.
fn triggers() -> Vec<(&'static str, &'static str)> {
    let value = |line: Option<&'static str>, name: &str| {
        let line = line.and_then(|line| line.strip_prefix(name)).expect(name);
        line.trim_matches(|char| matches!(char, ' ' | '=' | '"'))
    };
    let tables = MANIFEST.split("[[trigger.http]]\n").skip(1);
    tables
        .map(|table| {
            let mut lines = table.lines();
            (value(lines.next(), "route"), value(lines.next(), "component"))
        })
        .collect()
}

#[test]
fn every_route_has_its_trigger() {
    let own = ROUTES.iter().filter(|route| route.component != Component::Archive);
    let mut wanted: BTreeSet<_> = own.map(|route| (route.path, route.component.name())).collect();
    wanted.insert(ALL_OTHERS);
    let triggers = triggers();
    assert_eq!(triggers.len(), wanted.len(), "none is there twice");
    assert_eq!(triggers.last(), Some(&ALL_OTHERS));
    assert_eq!(triggers.into_iter().collect::<BTreeSet<_>>(), wanted);
}
