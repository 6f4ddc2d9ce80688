//! Which messages have expired, as scripts and SQL are told.

use super::Tiered;
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::sql::Value;
use im_domain::Tenant;
use im_domain::retention::Retention;

/// What holds for a tenant now.
pub(super) fn of<R: Redis, P: Postgres>(store: &Tiered<R, P>, tenant: &Tenant) -> Retention {
    store.settings.retention.of(tenant, store.now_ms())
}

/// The same as scripts take it; see `expired_of()` in prelude.lua.
pub(super) fn times<R: Redis, P: Postgres>(store: &Tiered<R, P>, tenant: &Tenant) -> String {
    of(store, tenant).times().map(|time| time.to_string()).join(" ")
}

/// The same as statements take it; see [`expired_up_to`].
pub(super) fn times_in_sql<R: Redis, P: Postgres>(store: &Tiered<R, P>, tenant: &Tenant) -> Value {
    Value::Integers(of(store, tenant).times().map(|time| i64::try_from(time).ok()).to_vec())
}

/// The newest id of the conversation `c` that has expired; `times`: the parameter with [`times_in_sql`].
pub(super) fn expired_up_to(times: &str) -> String {
    format!(
        "greatest(0, (CASE WHEN c.legal_hold = 1 THEN 0
            WHEN c.retention_ms IS NULL THEN ({times}::bigint[])[c.kind + 1] WHEN c.retention_ms = 0 THEN 0
            ELSE ({times}::bigint[])[1] - c.retention_ms END << 22) - 1)"
    )
}
