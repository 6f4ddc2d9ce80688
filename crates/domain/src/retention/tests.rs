//! Shows which rule counts, what an operator may say, and that engines come to the same as the domain.

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
    assert_eq!([Single, Group, System].map(|kind| rules.shortest_ms(kind)), [Some(90), Some(80), Some(5)]);
    assert_eq!(RetentionRules::default().shortest_ms(Group), None);
}

#[test]
fn a_retention_of_a_conversations_own_has_bounds() {
    for ms in [0, 1, RETENTION_MS_MAX] {
        assert_eq!(KeepFor::Ms(ms).check(), Ok(()));
    }
    for ms in [RETENTION_MS_MAX + 1, u64::MAX] {
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
