//! Who is due is leased to one service at a time.

use super::waiting::{Waiting, waiting};
use crate::embedded::Embedded;
use crate::embedded::clock::Counters;
use crate::params;
use crate::sql::SqlError;
use crate::sqlite::Sqlite;
use im_domain::limits::PUSH_LEASE_MS;
use im_domain::push::PushRule;
use im_domain::{MsgId, Result, Tenant, UserId};

/// Finds leases by their ids; the sign keeps SQLite from another index, under which it would look at
/// everybody who waits.
const CONFIRMED: &str = "
    SELECT user, messages, oldest, seen FROM push
    WHERE lease IN (SELECT value FROM json_each(?2)) AND +tenant = ?1 AND look > ?3";
const DONE: &str = "
    INSERT INTO push (tenant, user, look) SELECT ?1, value ->> 0, value ->> 1 FROM json_each(?2) WHERE true
    ON CONFLICT DO UPDATE SET since = covered, since_version = covered_version, lease = NULL,
        look = excluded.look";

/// A user who was leased, with what waits.
pub(super) struct Leased {
    pub lease_id: String,
    pub user: UserId,
    pub show_content: bool,
    /// Not empty.
    pub waiting: Vec<Waiting>,
}

/// Ends leases of the tenant that have not run out: what they cover is done with. What came since begins
/// to wait.
pub(super) fn confirm<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    rule: PushRule,
    leases: &[String],
) -> Result<()> {
    let now_ms = store.now_ms();
    let leases = serde_json::Value::from(leases).to_string();
    let mut done = Vec::new();
    for mut row in store.db.execute(CONFIRMED, params![tenant.as_str(), leases, now_ms])? {
        let (user, messages) = (row.text()?, row.count()?);
        let oldest_ms = row.opt_int()?.and_then(|ms| u64::try_from(ms).ok());
        let seen_ms = row.count()?;
        let due_ms = oldest_ms.map(|oldest_ms| rule.due_ms(now_ms, messages, oldest_ms, seen_ms));
        done.push(serde_json::json!([user, due_ms]));
    }
    store.db.execute(DONE, params![tenant.as_str(), serde_json::Value::from(done).to_string()])?;
    Ok(())
}

/// Users whose time has come, the one first whose came first.
pub(super) fn to_look_at<P: Sqlite>(store: &Embedded<P>, tenant: &Tenant, count: u32) -> Result<Vec<UserId>> {
    const STATEMENT: &str =
        "SELECT user FROM push WHERE tenant = ?1 AND look IS NOT NULL AND look <= ?2 ORDER BY look LIMIT ?3";
    let parameters = params![tenant.as_str(), store.now_ms(), i64::from(count)];
    let rows = store.db.execute(STATEMENT, parameters)?;
    rows.into_iter().map(|mut row| UserId::parse(row.text()?)).collect()
}

/// Leases a user who is due; one who is not is looked at again when it will be, and one for whom nothing
/// waits when there is something new.
pub(super) fn lease<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    user: &UserId,
    rule: PushRule,
) -> Result<Option<Leased>> {
    let now_ms = store.now_ms();
    let Some(sleeper) = Sleeper::find(store, tenant, user, now_ms)? else { return Ok(None) };
    let waiting = waiting(store, tenant, user, sleeper.since, sleeper.since_version)?;
    let messages = waiting.iter().map(|one| one.messages).sum();
    let due = waiting
        .iter()
        .map(|one| one.oldest_ms)
        .min()
        .map(|oldest_ms| (oldest_ms, rule.due_ms(now_ms, messages, oldest_ms, sleeper.seen_ms)));
    match due {
        Some((_, due_ms)) if due_ms <= now_ms => {
            let lease_id = hold(store, tenant, user, now_ms)?;
            let show_content = sleeper.show_content;
            Ok(Some(Leased { lease_id, user: user.clone(), show_content, waiting }))
        }
        later => {
            put_off(store, tenant, user, messages, later)?;
            Ok(None)
        }
    }
}

/// A user who may be due.
struct Sleeper {
    show_content: bool,
    since: MsgId,
    since_version: u64,
    seen_ms: u64,
}

impl Sleeper {
    /// None when somebody else has taken the user meanwhile, or a device has synced.
    fn find<P: Sqlite>(
        store: &Embedded<P>,
        tenant: &Tenant,
        user: &UserId,
        now_ms: u64,
    ) -> Result<Option<Self>, SqlError> {
        const STATEMENT: &str = "
            SELECT show_content, since, since_version, seen FROM push
            WHERE tenant = ?1 AND user = ?2 AND look <= ?3";
        let mut rows = store.db.execute(STATEMENT, params![tenant.as_str(), user.as_str(), now_ms])?;
        let Some(row) = rows.first_mut() else { return Ok(None) };
        Ok(Some(Self {
            show_content: row.flag()?,
            since: row.msg_id()?,
            since_version: row.count()?,
            seen_ms: row.count()?,
        }))
    }
}

/// Gives the lease of everything that has been said so far.
fn hold<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    user: &UserId,
    now_ms: u64,
) -> Result<String, SqlError> {
    const STATEMENT: &str = "
        UPDATE push SET lease = ?3, look = ?4, covered = ?5, covered_version = ?6, messages = 0, oldest = NULL
        WHERE tenant = ?1 AND user = ?2";
    let lease_id = store.random_name();
    let counters = Counters::load(store)?;
    let parameters = params![
        tenant.as_str(),
        user.as_str(),
        lease_id.as_str(),
        now_ms + PUSH_LEASE_MS,
        counters.moment(),
        counters.version,
    ];
    store.db.execute(STATEMENT, parameters)?;
    Ok(lease_id)
}

/// `due`: when the oldest message was sent, and when the user is due, both in milliseconds.
fn put_off<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    user: &UserId,
    messages: u64,
    due: Option<(u64, u64)>,
) -> Result<(), SqlError> {
    const STATEMENT: &str = "
        UPDATE push SET lease = NULL, messages = ?3, oldest = ?4, look = ?5 WHERE tenant = ?1 AND user = ?2";
    let (oldest_ms, due_ms) = due.unzip();
    let parameters = params![tenant.as_str(), user.as_str(), messages, oldest_ms, due_ms];
    store.db.execute(STATEMENT, parameters).map(|_| ())
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use crate::embedded::testing::plan;

    #[test]
    fn a_confirmation_costs_the_leases_it_names() {
        let plan = plan(super::CONFIRMED, 3);
        assert!(plan.iter().any(|step| step.contains("push_lease (lease=?)")), "{plan:#?}");
    }
}
