//! What is kept of users: their devices, and what a push may show.

use super::signed;
use crate::sql::Value;
use crate::tiered::entry::{Body, Entry, UserChange};
use im_domain::MsgId;
use im_domain::limits::DEVICES_MAX;
use std::collections::BTreeMap;

/// The parts of a statement that store users, with 13 parameters from $`first` on. Only the last entry about a
/// device or a setting is given, so their order does not matter. Of a user's devices no more are kept than
/// there may be, beside those that go anyway: Redis may have forgotten some.
pub(super) fn parts(first: usize) -> String {
    let p = |number: usize| format!("${}", first + number);
    format!(
        "seen AS MATERIALIZED (
            SELECT t.* FROM unnest({}::bigint[], {}::text[], {}::text[], {}::text[], {}::bigint[])
                AS t(stamp, tenant, user_id, device, at), gate WHERE t.stamp > gate.clock),
        noted AS (
            INSERT INTO device AS d (tenant, user_id, device, partition, last_seen)
            SELECT tenant, user_id, device, $1::bigint, at FROM seen
            ON CONFLICT (tenant, user_id, device)
                DO UPDATE SET last_seen = greatest(d.last_seen, excluded.last_seen)),
        gone AS MATERIALIZED (
            SELECT t.* FROM unnest({}::bigint[], {}::text[], {}::text[], {}::text[])
                AS t(stamp, tenant, user_id, device), gate WHERE t.stamp > gate.clock),
        unseen AS (
            DELETE FROM device d USING gone t
            WHERE d.tenant = t.tenant AND d.user_id = t.user_id AND d.device = t.device),
        too_many AS (
            DELETE FROM device d USING (
                SELECT e.tenant, e.user_id, e.device, n.count + row_number()
                    OVER (PARTITION BY e.tenant, e.user_id ORDER BY e.last_seen DESC, e.device) AS rank
                FROM (SELECT tenant, user_id, count(*) AS count FROM seen GROUP BY tenant, user_id) n
                JOIN device e USING (tenant, user_id)
                WHERE NOT EXISTS (SELECT 1 FROM seen s WHERE s.tenant = e.tenant AND s.user_id = e.user_id
                    AND s.device = e.device)
                AND NOT EXISTS (SELECT 1 FROM gone s WHERE s.tenant = e.tenant AND s.user_id = e.user_id
                    AND s.device = e.device)) x
            WHERE x.rank > {DEVICES_MAX} AND d.tenant = x.tenant AND d.user_id = x.user_id
                AND d.device = x.device),
        allowed AS (
            INSERT INTO user_setting (tenant, user_id, partition, show_content)
            SELECT t.tenant, t.user_id, $1::bigint, t.show_content
            FROM unnest({}::bigint[], {}::text[], {}::text[], {}::bigint[])
                AS t(stamp, tenant, user_id, show_content), gate WHERE t.stamp > gate.clock
            ON CONFLICT (tenant, user_id) DO UPDATE SET show_content = excluded.show_content)",
        p(0),
        p(1),
        p(2),
        p(3),
        p(4),
        p(5),
        p(6),
        p(7),
        p(8),
        p(9),
        p(10),
        p(11),
        p(12),
    )
}

/// The last entry about each device and each user's setting: tenant, user, device, its stamp and the change.
type Last<'a> = BTreeMap<(&'a str, &'a str, Option<&'a str>), (MsgId, &'a UserChange)>;

pub(super) fn parameters_of(entries: &[Entry]) -> Vec<Value> {
    let mut last: Last<'_> = BTreeMap::new();
    for entry in entries {
        let Body::User(change) = &entry.body else { continue };
        let device = match change {
            UserChange::Seen { device, .. } | UserChange::Gone { device } => Some(device.as_str()),
            UserChange::ShowContent(_) | UserChange::Erased => None,
        };
        // What the hot store calls a conversation is a user here.
        last.insert((entry.place.tenant(), entry.place.conversation(), device), (entry.stamp, change));
    }
    let mut columns = Columns::of(&last, |change| match change {
        UserChange::Seen { at_ms, .. } => Some(*at_ms),
        _ => None,
    });
    let mut parameters = columns.keys(true);
    parameters.push(Value::Integers(columns.numbers));
    columns = Columns::of(&last, |change| matches!(change, UserChange::Gone { .. }).then_some(0));
    parameters.extend(columns.keys(true));
    columns = Columns::of(&last, |change| match change {
        UserChange::ShowContent(show) => Some(u64::from(*show)),
        _ => None,
    });
    parameters.extend(columns.keys(false));
    parameters.push(Value::Integers(columns.numbers));
    parameters
}

/// Changes of one kind, as arrays.
#[derive(Default)]
struct Columns {
    stamps: Vec<Option<i64>>,
    tenants: Vec<Option<String>>,
    users: Vec<Option<String>>,
    devices: Vec<Option<String>>,
    numbers: Vec<Option<i64>>,
}

impl Columns {
    /// Those of which `number` gives one.
    fn of(last: &Last<'_>, number: impl Fn(&UserChange) -> Option<u64>) -> Self {
        let mut columns = Self::default();
        for ((tenant, user, device), (stamp, change)) in last {
            let Some(number) = number(change) else { continue };
            columns.stamps.push(Some(stamp.to_sql()));
            columns.tenants.push(Some((*tenant).to_owned()));
            columns.users.push(Some((*user).to_owned()));
            columns.devices.push(device.map(str::to_owned));
            columns.numbers.push(signed(number));
        }
        columns
    }

    fn keys(&mut self, with_device: bool) -> Vec<Value> {
        let mut keys = vec![Value::Integers(std::mem::take(&mut self.stamps))];
        keys.extend([&mut self.tenants, &mut self.users].map(|texts| Value::Texts(std::mem::take(texts))));
        if with_device {
            keys.push(Value::Texts(std::mem::take(&mut self.devices)));
        }
        keys
    }
}
