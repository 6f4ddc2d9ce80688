//! What tests of statements share.

#![allow(clippy::unwrap_used)]

use super::{Embedded, Environment};
use crate::native::NativeSqlite;
use crate::sql::Value;
use std::path::Path;

pub(super) fn store_in_memory() -> Embedded<NativeSqlite> {
    let environment = Environment {
        now_ms: Box::new(|| 0),
        random: Box::new(|| 1),
        retention: im_domain::retention::RetentionRules::default(),
        push: im_domain::push::PushRules::default(),
        revision: im_domain::revision::RevisionRules::default(),
        tier: im_domain::tier::TierRules::default(),
        index_members_max: im_domain::limits::INDEX_MEMBERS_MAX,
    };
    Embedded::open(NativeSqlite::open(Path::new(":memory:")).unwrap(), environment).unwrap()
}

/// The steps by which SQLite would run a statement with so many parameters.
pub(super) fn plan(statement: &str, parameters: usize) -> Vec<String> {
    use crate::sqlite::Sqlite;
    let store = store_in_memory();
    let explain = format!("EXPLAIN QUERY PLAN {statement}");
    let rows = store.db.execute(&explain, vec![Value::Null; parameters]).unwrap();
    let step = |mut row: crate::sql::Row| {
        (0..3).for_each(|_| row.skip());
        row.text().unwrap()
    };
    rows.into_iter().map(step).collect()
}

/// Each access to a table is a search by an index, but for subqueries and what stands in `small`, which
/// have few rows.
pub(super) fn assert_searches(plan: &[String], small: &[&str]) {
    let is_fine = |step: &String| small.iter().any(|small| step.starts_with(&format!("SCAN {small}")));
    assert!(plan.iter().filter(|step| step.starts_with("SCAN ")).all(is_fine), "{plan:#?}");
}
