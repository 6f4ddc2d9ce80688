//! Where something may have expired: conversations by what of them expires first, found by indexes.
//!
//! A conversation is looked at when the shortest retention of any tenant has passed for its oldest message; whether
//! something of it has expired is then seen by its own tenant's. Those of tenants that keep longer are met by every
//! run; so that they keep no run from the others, each begins elsewhere.

use crate::sql::{Row, Value};
use im_domain::conversation::ConversationKind;
use im_domain::msg_id::{self, ID_EPOCH_MS, MsgId};
use im_domain::retention::{Keeping, RetentionRules};
use im_domain::{Result, Tenant};

/// Conversations in the order of a key that says when they expire.
pub(crate) struct Scan {
    /// Conditions and key are those of an index.
    condition: String,
    key: &'static str,
    /// The last key that may have expired.
    last: i64,
}

/// Where a scan has come to: a key and a conversation's number.
pub(crate) type Spot = (i64, i64);

/// A conversation in which something may have expired.
pub(crate) struct Candidate {
    pub cid: i64,
    pub tenant: Tenant,
    pub name: String,
    pub kind: ConversationKind,
    pub retention_ms: Option<u64>,
    /// Nothing of it is older.
    pub oldest: MsgId,
    pub spot: Spot,
}

impl Scan {
    /// Everywhere where something may have expired by now, in milliseconds since 1970.
    pub fn all(rules: &RetentionRules, now_ms: u64) -> Vec<Self> {
        let of_kind = |kind: &ConversationKind| {
            let expired = msg_id::expired_up_to(now_ms, rules.shortest_ms(*kind)?);
            Some(Self {
                condition: format!("c.kind = {} AND c.retention_ms IS NULL", kind.number()),
                key: "c.oldest_msg_id",
                last: expired.to_sql(),
            })
        };
        let own = Self {
            condition: "c.retention_ms > 0".to_owned(),
            key: "((c.oldest_msg_id >> 22) + c.retention_ms)",
            last: i64::try_from(now_ms.saturating_sub(ID_EPOCH_MS)).unwrap_or(i64::MAX) - 1,
        };
        ConversationKind::ALL.iter().filter_map(of_kind).chain([own]).filter(|scan| scan.last > 0).collect()
    }

    /// The two parts of a scan that begins anywhere: from there on, and up to there. `random` says where.
    pub fn parts(&self, random: u128) -> [(Spot, i64); 2] {
        let begin = i64::try_from(random % (self.last.unsigned_abs() as u128 + 1)).unwrap_or_default();
        [((begin, 0), self.last), ((i64::MIN, 0), begin)]
    }

    /// Selects what [`Candidate::read`] takes, in order, and further columns out of further tables. `at` writes a
    /// parameter by its number: 1 and 2 the spot after which, 3 the last key, 4 how many.
    pub fn statement(&self, columns: &str, joins: &str, at: impl Fn(u8) -> String) -> String {
        let Self { condition, key, .. } = self;
        let [after_key, after_cid, last, count] = [1, 2, 3, 4].map(at);
        format!(
            "SELECT c.cid, c.tenant, c.name, c.kind, c.retention_ms, c.oldest_msg_id, {key}{columns}
            FROM conversation c {joins}
            WHERE {condition} AND c.legal_hold = 0 AND {key} >= {after_key} AND {key} <= {last}
                AND ({key} > {after_key} OR c.cid > {after_cid})
            ORDER BY {key}, c.cid LIMIT {count}"
        )
    }

    pub fn parameters((key, cid): Spot, last: i64, count: usize) -> Vec<Value> {
        vec![key.into(), cid.into(), last.into(), (count as u64).into()]
    }
}

impl Candidate {
    pub fn read(row: &mut Row) -> Result<Self> {
        let cid = row.int()?;
        Ok(Self {
            cid,
            tenant: Tenant::parse(row.text()?)?,
            name: row.text()?,
            kind: row.case(ConversationKind::from_number)?,
            retention_ms: row.opt_int()?.map(i64::unsigned_abs),
            oldest: row.msg_id()?,
            spot: (row.int()?, cid),
        })
    }

    /// The newest message that has expired; none: nothing has. `now_ms`: milliseconds since 1970.
    pub fn expired_up_to(&self, rules: &RetentionRules, now_ms: u64) -> MsgId {
        let own = Keeping { retention_ms: self.retention_ms, legal_hold: false };
        rules.of(&self.tenant, now_ms).expired_up_to(self.kind, own)
    }
}
