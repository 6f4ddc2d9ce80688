//! How long messages are kept.
//!
//! An operator says so for all, for types of conversations, for tenants, and for both; a conversation may say
//! otherwise. What has expired is hidden at once and purged by the next upkeep. Under legal hold nothing expires.

use crate::conversation::ConversationKind;
use crate::error::{Error, Result};
use crate::limits::RETENTION_MS_MAX;
use crate::msg_id::{self, ID_EPOCH_MS, MsgId};
use crate::name::Tenant;
use std::collections::{BTreeMap, BTreeSet};

const RETENTION_VARIABLE: &str = "retention_ms";
const HOLD_VARIABLE: &str = "legal_hold";

/// What a conversation says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// How long it keeps its messages, in milliseconds, 0: for ever; absent: as the operator says.
    pub retention_ms: Option<u64>,
    /// Nothing of it expires.
    pub legal_hold: bool,
}

/// How long a conversation is to keep its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepFor {
    /// As the operator says.
    Policy,
    /// So many milliseconds, at most [`RETENTION_MS_MAX`]; 0: for ever.
    Ms(u64),
}

impl KeepFor {
    pub fn check(self) -> Result<()> {
        match self {
            Self::Ms(ms) if ms > RETENTION_MS_MAX => {
                Err(Error::invalid("retentionMs", format!("must be 0 to {RETENTION_MS_MAX} milliseconds")))
            }
            Self::Policy | Self::Ms(_) => Ok(()),
        }
    }

    /// As [`Keeping::retention_ms`].
    pub fn ms(self) -> Option<u64> {
        match self {
            Self::Policy => None,
            Self::Ms(ms) => Some(ms),
        }
    }
}

impl From<Option<u64>> for KeepFor {
    fn from(ms: Option<u64>) -> Self {
        ms.map_or(Self::Policy, Self::Ms)
    }
}

/// How many types of conversations there are.
const KINDS: usize = ConversationKind::ALL.len();

/// What is said for all types and for each, in milliseconds, 0: for ever; absent: nothing is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rule {
    all: Option<u64>,
    kinds: [Option<u64>; KINDS],
}

impl Rule {
    fn of(&self, at: usize) -> Option<u64> {
        self.kinds.get(at).copied().flatten().or(self.all)
    }

    /// What is said for a type, or for all.
    fn slot(&mut self, kind: Option<ConversationKind>) -> Option<&mut Option<u64>> {
        match kind {
            Some(kind) => self.kinds.get_mut(place_of(kind)?),
            None => Some(&mut self.all),
        }
    }
}

fn place_of(kind: ConversationKind) -> Option<usize> {
    ConversationKind::ALL.iter().position(|one| *one == kind)
}

/// The rules of all tenants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionRules {
    general: Rule,
    own: BTreeMap<Tenant, Rule>,
    /// Tenants wholly under legal hold.
    held: BTreeSet<Tenant>,
}

impl RetentionRules {
    /// The same for all, in milliseconds; 0: for ever.
    pub fn all(retention_ms: u64) -> Self {
        Self { general: Rule { all: Some(retention_ms), ..Rule::default() }, ..Self::default() }
    }

    /// Reads the variables `retention_ms` (a number of milliseconds for all, then any of `single=…`, `group=…`,
    /// `system=…`, `TENANT=…` and `TENANT/group=…`, with commas between) and `legal_hold` (tenants, with commas
    /// between, or nothing). A tenant that is named as a type is reached by the form with a slash alone. An error
    /// is `internal`, as no client is to blame, and names the part.
    pub fn parse(retention_ms: &str, legal_hold: &str) -> Result<Self> {
        let mut parts = retention_ms.split(',').map(str::trim);
        let mut rules = Self::all(number(parts.next().unwrap_or_default())?);
        for part in parts {
            let (whom, ms) = part.split_once('=').ok_or_else(|| refused(part, "is not NAME=number"))?;
            let (tenant, kind) =
                whom_of(whom.trim()).ok_or_else(|| refused(part, "names no type and no tenant"))?;
            let rule = match tenant {
                Some(tenant) => rules.own.entry(tenant).or_default(),
                None => &mut rules.general,
            };
            let slot = rule.slot(kind).filter(|slot| slot.is_none());
            *slot.ok_or_else(|| refused(part, "is said twice"))? = Some(number(ms.trim())?);
        }
        rules.held = held(legal_hold)?;
        Ok(rules)
    }

    /// What holds for a tenant at a time, in milliseconds since 1970. The most specific rule counts.
    pub fn of(&self, tenant: &Tenant, now_ms: u64) -> Retention {
        let mut retention = Retention { now_ms, kinds: [0; KINDS] };
        if self.held.contains(tenant) {
            retention.now_ms = 0;
            return retention;
        }
        let own = self.own.get(tenant);
        for (at, ms) in retention.kinds.iter_mut().enumerate() {
            *ms = own.and_then(|rule| rule.of(at)).or_else(|| self.general.of(at)).unwrap_or(0);
        }
        retention
    }

    /// The shortest time, in milliseconds, for which any rule may keep conversations of a type; none: all are kept
    /// for ever. A bound for what may have expired.
    pub fn shortest_ms(&self, kind: ConversationKind) -> Option<u64> {
        let at = place_of(kind)?;
        let rules = [&self.general].into_iter().chain(self.own.values());
        rules.filter_map(|rule| rule.of(at)).filter(|ms| *ms > 0).min()
    }
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| refused(text, "is not a number of milliseconds, 0 or more"))
}

/// Whom a rule is for; absent: all.
fn whom_of(text: &str) -> Option<(Option<Tenant>, Option<ConversationKind>)> {
    if let Some((tenant, kind)) = text.split_once('/') {
        return Some((Some(Tenant::parse(tenant).ok()?), Some(ConversationKind::from_text(kind)?)));
    }
    match ConversationKind::from_text(text) {
        Some(kind) => Some((None, Some(kind))),
        None => Some((Some(Tenant::parse(text).ok()?), None)),
    }
}

fn refused(part: &str, what: &str) -> Error {
    Error::internal(format!("variable {RETENTION_VARIABLE}: `{part}` {what}"))
}

fn held(text: &str) -> Result<BTreeSet<Tenant>> {
    if text.trim().is_empty() {
        return Ok(BTreeSet::new());
    }
    let tenant = |part: &str| {
        let wrong = |_| Error::internal(format!("variable {HOLD_VARIABLE}: `{part}` names no tenant"));
        Tenant::parse(part).map_err(wrong)
    };
    text.split(',').map(str::trim).map(tenant).collect()
}

/// What holds for a tenant at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// 0: nothing expires.
    now_ms: u64,
    /// For how long conversations of each type are kept, in milliseconds; 0: for ever.
    kinds: [u64; KINDS],
}

impl Retention {
    /// The newest message of a conversation that has expired.
    pub fn expired_up_to(&self, kind: ConversationKind, own: Keeping) -> MsgId {
        let of_kind = || self.kinds.get(place_of(kind)?).copied();
        let retention_ms = own.retention_ms.or_else(of_kind).unwrap_or(0);
        match own.legal_hold {
            true => MsgId::NONE,
            false => msg_id::expired_up_to(self.now_ms, retention_ms),
        }
    }

    /// What engines are told, in milliseconds since the zero of ids: now, and, by the numbers of the types, the
    /// time from which on their messages are kept; each 0 where nothing expires. Of a conversation with a retention
    /// of its own, other than 0, messages are kept from now less that on.
    pub fn times(&self) -> [u64; 1 + KINDS] {
        let mut times = [self.now_ms.saturating_sub(ID_EPOCH_MS); 1 + KINDS];
        for (time, ms) in times.iter_mut().skip(1).zip(self.kinds) {
            *time = if ms == 0 { 0 } else { time.saturating_sub(ms) };
        }
        times
    }
}

#[cfg(test)]
mod tests;
