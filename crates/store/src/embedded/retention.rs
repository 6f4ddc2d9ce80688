//! Which messages have expired, in SQL.

use super::Embedded;
use crate::sqlite::Sqlite;
use im_domain::Tenant;

/// The newest id of the conversation `c` that has expired. The parameter is what [`times`] gives.
macro_rules! expired_up_to {
    ($times:literal) => {
        concat!(
            "max(0, (CASE WHEN c.legal_hold THEN 0 WHEN c.retention_ms IS NULL THEN ",
            $times,
            " ->> c.kind WHEN c.retention_ms = 0 THEN 0 ELSE (",
            $times,
            " ->> 0) - c.retention_ms END << 22) - 1)"
        )
    };
}
pub(super) use expired_up_to;

/// What holds for a tenant now, as [`im_domain::retention::Retention::times`] says it: an array in JSON.
pub(super) fn times<P: Sqlite>(store: &Embedded<P>, tenant: &Tenant) -> String {
    let retention = store.environment.retention.of(tenant, store.now_ms());
    serde_json::Value::from(retention.times().to_vec()).to_string()
}
