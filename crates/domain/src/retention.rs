//! How long messages are kept.
//!
//! An operator says so for all, for types of conversations, for tenants, and for both; a conversation may say
//! otherwise. What has expired is hidden at once and purged by the next upkeep. Under legal hold nothing expires.

use crate::conversation::ConversationKind;
use crate::error::{Error, Result};
use crate::limits::{RETENTION_MS_MAX, RETENTION_MS_MIN};
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
    /// So many milliseconds, [`RETENTION_MS_MIN`] to [`RETENTION_MS_MAX`]; 0: for ever.
    Ms(u64),
}

impl KeepFor {
    pub fn check(self) -> Result<()> {
        match self {
            Self::Ms(ms) if ms != 0 && !(RETENTION_MS_MIN..=RETENTION_MS_MAX).contains(&ms) => {
                let reason = format!("must be 0, or {RETENTION_MS_MIN} to {RETENTION_MS_MAX} milliseconds");
                Err(Error::invalid("retentionMs", reason))
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

/// Whom a rule is for; absent: all.
type Whom = (Option<Tenant>, Option<ConversationKind>);

/// The rules of all tenants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionRules {
    /// In milliseconds, 0: for ever.
    rules: BTreeMap<Whom, u64>,
    /// Tenants wholly under legal hold.
    held: BTreeSet<Tenant>,
}

impl RetentionRules {
    /// The same for all, in milliseconds; 0: for ever.
    pub fn all(retention_ms: u64) -> Self {
        Self { rules: BTreeMap::from([((None, None), retention_ms)]), held: BTreeSet::new() }
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
            let whom = whom_of(whom.trim()).ok_or_else(|| refused(part, "names no type and no tenant"))?;
            if rules.rules.insert(whom, number(ms.trim())?).is_some() {
                return Err(refused(part, "is said twice"));
            }
        }
        rules.held = held(legal_hold)?;
        Ok(rules)
    }

    /// What holds for a tenant at a time, in milliseconds since 1970.
    pub fn of(&self, tenant: &Tenant, now_ms: u64) -> Retention {
        if self.held.contains(tenant) {
            return Retention { now_ms: 0, kinds: [0; KINDS] };
        }
        let kinds = ConversationKind::ALL.iter().map(|kind| self.ms(tenant, *kind));
        let mut retention = Retention { now_ms, kinds: [0; KINDS] };
        retention.kinds.iter_mut().zip(kinds).for_each(|(slot, ms)| *slot = ms);
        retention
    }

    /// The most specific rule counts.
    fn ms(&self, tenant: &Tenant, kind: ConversationKind) -> u64 {
        let whom = [
            (Some(tenant.clone()), Some(kind)),
            (Some(tenant.clone()), None),
            (None, Some(kind)),
            (None, None),
        ];
        whom.iter().find_map(|whom| self.rules.get(whom)).copied().unwrap_or(0)
    }

    /// The shortest time, in milliseconds, for which any rule keeps conversations of a type; none: all are kept for
    /// ever. A bound for what may have expired.
    pub fn shortest_ms(&self, kind: ConversationKind) -> Option<u64> {
        let concerns = |(of, ms): &(&Whom, &u64)| of.1.is_none_or(|of| of == kind) && **ms > 0;
        self.rules.iter().filter(concerns).map(|(_, ms)| *ms).min()
    }
}

/// How many types of conversations there are.
const KINDS: usize = ConversationKind::ALL.len();

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| refused(text, "is not a number of milliseconds, 0 or more"))
}

fn whom_of(text: &str) -> Option<Whom> {
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
        let of_kind = || ConversationKind::ALL.iter().zip(self.kinds).find(|(one, _)| **one == kind);
        let retention_ms = own.retention_ms.or_else(|| Some(of_kind()?.1)).unwrap_or(0);
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
mod tests {
    use super::*;
    use ConversationKind::{Group, Single, System};
    use proptest::prelude::*;

    const NOW_MS: u64 = ID_EPOCH_MS + 1_000_000;

    fn tenant(name: &str) -> Tenant {
        Tenant::parse(name).unwrap()
    }

    /// For how long a tenant's conversations are kept: single, group, system.
    fn kept(rules: &str, name: &str) -> [u64; 3] {
        RetentionRules::parse(rules, "").unwrap().of(&tenant(name), NOW_MS).kinds
    }

    #[test]
    fn the_most_specific_rule_counts() {
        let rules = "9, group=8 ,acme=7,acme/system=0";
        assert_eq!(kept(rules, "other"), [9, 8, 9]);
        assert_eq!(kept(rules, "acme"), [7, 7, 0]);
        assert_eq!(kept("0", "acme"), [0, 0, 0]);
    }

    #[test]
    fn a_tenant_named_as_a_type_is_reached_with_a_slash() {
        let rules = "1,group=2,group/single=3,group/group=4";
        assert_eq!(kept(rules, "group"), [3, 4, 1]);
        assert_eq!(kept(rules, "other"), [1, 2, 1]);
    }

    #[test]
    fn what_is_no_rule_is_refused_by_its_part() {
        for (rules, part) in [
            ("", "``"),
            ("-1", "`-1`"),
            ("1.5", "`1.5`"),
            ("18446744073709551616", "`18446744073709551616`"),
            ("1,acme", "`acme`"),
            ("1,", "``"),
            ("1,acme=x", "`x`"),
            ("1,a b=1", "`a b=1`"),
            ("1,acme/rooms=1", "`acme/rooms=1`"),
            ("1,acme/group/x=1", "`acme/group/x=1`"),
            ("1,/group=1", "`/group=1`"),
            ("1,group=1,group=1", "`group=1`"),
            ("1,acme=1, acme = 2", "`acme = 2`"),
        ] {
            let Err(Error::Internal { reason }) = RetentionRules::parse(rules, "") else {
                panic!("{rules} was taken")
            };
            assert!(reason.starts_with(&format!("variable retention_ms: {part} ")), "{reason}");
        }
        let Err(Error::Internal { reason }) = RetentionRules::parse("1", "acme,,b") else { panic!("taken") };
        assert!(reason.starts_with("variable legal_hold: `` "), "{reason}");
    }

    #[test]
    fn a_conversation_says_otherwise_unless_it_is_held() {
        let retention = RetentionRules::parse("100,group=200", "").unwrap().of(&tenant("t"), NOW_MS);
        let own = |retention_ms| Keeping { retention_ms, legal_hold: false };
        let first_kept = |kind, own| retention.expired_up_to(kind, own).number() + 1;
        let since = |age: u64| MsgId::floor_of(NOW_MS - age).number();
        assert_eq!(first_kept(Single, own(None)), since(100));
        assert_eq!(first_kept(Group, own(None)), since(200));
        assert_eq!(first_kept(Group, own(Some(300))), since(300));
        assert_eq!(retention.expired_up_to(Group, own(Some(0))), MsgId::NONE);
        let held = Keeping { retention_ms: Some(300), legal_hold: true };
        assert_eq!(retention.expired_up_to(System, held), MsgId::NONE);
    }

    #[test]
    fn of_a_tenant_under_hold_nothing_expires() {
        let rules = RetentionRules::parse("100", " acme , b").unwrap();
        let own = Keeping { retention_ms: Some(60_000), legal_hold: false };
        for name in ["acme", "b"] {
            let retention = rules.of(&tenant(name), NOW_MS);
            assert_eq!(retention.times(), [0; 4]);
            assert!(ConversationKind::ALL.iter().all(|kind| retention.expired_up_to(*kind, own).is_none()));
        }
        assert!(!rules.of(&tenant("c"), NOW_MS).expired_up_to(Group, own).is_none());
    }

    #[test]
    fn the_shortest_time_of_a_type_bounds_all_tenants() {
        let rules = RetentionRules::parse("0,group=80,acme=90,acme/system=5", "").unwrap();
        assert_eq!(
            [Single, Group, System].map(|kind| rules.shortest_ms(kind)),
            [Some(90), Some(80), Some(5)]
        );
        assert_eq!(RetentionRules::default().shortest_ms(Group), None);
    }

    #[test]
    fn a_retention_of_a_conversations_own_has_bounds() {
        for ms in [0, RETENTION_MS_MIN, RETENTION_MS_MAX] {
            assert_eq!(KeepFor::Ms(ms).check(), Ok(()));
        }
        for ms in [1, RETENTION_MS_MIN - 1, RETENTION_MS_MAX + 1] {
            let refusal = KeepFor::Ms(ms).check();
            assert!(matches!(refusal, Err(Error::Invalid { field, .. }) if field == "retentionMs"));
        }
    }

    proptest! {
        /// What engines compute of the times is what the domain says.
        #[test]
        fn the_times_say_the_same(
            now in 0..2 * ID_EPOCH_MS, ms in 0..2 * ID_EPOCH_MS, own in prop::option::of(0..2 * ID_EPOCH_MS)
        ) {
            let retention = RetentionRules::all(ms).of(&tenant("t"), now);
            let times = retention.times().map(i128::from);
            let kept_from = match own {
                None => times[Group.number() as usize],
                Some(0) => 0,
                Some(own) => times[0] - i128::from(own),
            };
            let expired = ((kept_from << 22) - 1).clamp(0, i128::from(MsgId::MAX.number()));
            let said = retention.expired_up_to(Group, Keeping { retention_ms: own, legal_hold: false });
            prop_assert_eq!(i128::from(said.number()), expired);
        }
    }
}
