//! Entries of each kind are read, and anything else is refused.

use super::*;
use proptest::prelude::*;

/// An entry about the conversation `t/c`, whose partition its stamp has to carry.
fn parse(kind: &str, rest: &str) -> Option<Entry> {
    let place = Place::named("t/c").unwrap();
    let low = u64::from(place.partition) << 14;
    Entry::parse("1-0", format!("{kind}\n5\n{low}\nt/c\n{rest}").as_bytes())
}

#[test]
fn a_change_of_members_comes_to_its_end() {
    let lines = "7-1\n3\n99\n5\n+ a 6-2 4\n+ b 6-2 4\n- b\n- x\n= a 2\n= y 1\n";
    let Some(Body::Members(change)) = parse("g", lines).map(|entry| entry.body) else {
        panic!("not a change")
    };
    let added: Vec<_> = change.added.iter().map(|joiner| (joiner.user.as_str(), joiner.role)).collect();
    assert_eq!(added, [("a", 2)]);
    assert_eq!(change.removed.iter().map(UserId::as_str).collect::<Vec<_>>(), ["x"]);
    assert_eq!(change.roles, [(UserId::parse("y").unwrap(), 1)]);
    assert_eq!((change.members, change.time_ms), (3, 99));
}

#[test]
fn each_kind_is_read() {
    assert_eq!(parse("c", "e\n2\n0\n5\na 1\nb 3\n").unwrap().class(), Class::Conversations);
    assert_eq!(parse("p", "7-1\nu\nd\n6-2\n4\n").unwrap().class(), Class::Rows);
    assert_eq!(parse("k", "7-1\nu\n6-2\n4\n1\n5\n").unwrap().class(), Class::Rows);
    assert_eq!(parse("g", "7-1\n3\n99\n5\n! a 1\n~ 1\n% -\n# 1 b 99\n").unwrap().class(), Class::Single);
    assert_eq!(parse("a", "other\n").unwrap().class(), Class::Single);
    assert_eq!(parse("f", "7-1\nu\nd\n").unwrap().class(), Class::Forgotten);
    let Some(Body::Hidden(hidden)) = parse("h", "7-1\nu\n5\n6-2 1\n8-0 0\n").map(|entry| entry.body) else {
        panic!("nothing hidden")
    };
    assert_eq!(hidden.messages, [(stamp::join(6, 2), true), (stamp::join(8, 0), false)]);
    assert_eq!(parse("z", "7-1\nu\nz\n1\n6-2\n6-3\n").unwrap().class(), Class::Single);
    assert!(parse("z", "").is_none() && parse("q", "").is_none());
}

#[test]
fn an_edit_has_a_reason_and_a_content_of_any_lines() {
    let common = "7-1\n6-2\n2\n8-1\n0\na\na\n3\n99\n";
    let Some(Body::Revision(edit)) =
        parse("e", &format!("{common}5\nwhy\n?one\ntwo\n")).map(|entry| entry.body)
    else {
        panic!("not a revision")
    };
    assert_eq!((edit.reason.as_str(), edit.content.as_str()), ("why\n?", "one\ntwo\n"));
    assert_eq!(parse("e", &format!("{common}0\n")).unwrap().class(), Class::Single);
    assert!(parse("e", &format!("{common}9\nshort")).is_none());
}

#[test]
fn what_is_kept_of_a_user_is_in_the_log_of_the_users_own_partition() {
    let place = Place::of_user("t/u").unwrap();
    let low = u64::from(place.partition) << 14;
    for (kind, rest) in [("d", "phone\n99\n"), ("x", "phone\n"), ("w", "0\n"), ("y", "")] {
        let value = |low: u64| format!("{kind}\n5\n{low}\nt/u\n{rest}");
        let class = if kind == "y" { Class::Single } else { Class::Rows };
        assert_eq!(Entry::parse("1-0", value(low).as_bytes()).unwrap().class(), class);
        assert!(Entry::parse("1-0", value(low ^ 1 << 14).as_bytes()).is_none());
        let subject = Entry::subject(value(low).as_bytes()).unwrap();
        assert_eq!((subject.tenant.as_str(), subject.conversation), ("t", None));
    }
}

#[test]
fn an_entry_in_the_log_of_another_partition_is_none() {
    assert!(Entry::parse("1-0", b"a\n5\n0\nt/c\nother\n").is_none());
}

#[test]
fn an_entry_once_more_keeps_what_it_was_made_under() {
    let place = Place::named("t/c").unwrap();
    let low = u64::from(place.partition) << 14;
    let value = format!("r\n9\n{low}\nc\n5\n{low}\nt/c\ne\n2\n0\n5\na 1\n");
    let entry = Entry::parse("1-0", value.as_bytes()).unwrap();
    let Body::Conversation(made) = entry.body else { panic!("not a conversation") };
    assert_eq!((stamp::ms(entry.stamp), stamp::ms(made.cid)), (9, 5));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_and_never_a_crash(bytes: Vec<u8>, kind in "[mpkcgvehafdxwyz]") {
        let _entry = Entry::parse("1-0", &bytes);
        let _entry = parse(&kind, &String::from_utf8_lossy(&bytes));
    }
}
