//! Groups above [`INDEX_MEMBERS`] are looked up, instead of telling each member of what was said: to a device that
//! makes no difference, and nothing is lost when one grows or shrinks across that.

use super::asking::Asking;
use super::backend::{Backend, INDEX_MEMBERS, on_every_back_end};
use super::talk::*;
use ChangeKind::{Membership, Messages, Read};
use im_domain::conversation::{MemberChange, Role};
use im_domain::global::ChangeKind;
use im_domain::storage::Storage;

on_every_back_end!(
    a_wide_group_is_told_like_any_other,
    nothing_is_lost_when_a_group_grows_and_shrinks,
    a_cold_group_that_grows_and_shrinks_hides_nothing_of_another,
    a_walk_in_small_parts_ends_though_a_group_has_shrunk,
    wide_groups_stand_in_the_list_where_they_belong,
);

/// So many that they make a wide group, with the user "a".
fn many() -> Vec<String> {
    ["a".to_owned()].into_iter().chain((0..INDEX_MEMBERS + 1).map(|n| format!("m{n}"))).collect()
}

pub fn wide_group(store: &impl Storage, name: &str) {
    let members = many();
    group(store, name, &members.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Adds and removes so many that a group of "a" and "b" becomes wide, or ceases to be.
fn crowd(grow: bool) -> MemberChange {
    let crowd = (0..INDEX_MEMBERS).map(|n| user(&format!("m{n}"))).collect();
    match grow {
        true => MemberChange { add: crowd, ..MemberChange::default() },
        false => MemberChange { remove: crowd, ..MemberChange::default() },
    }
}

fn a_wide_group_is_told_like_any_other<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    wide_group(&store, "w");
    group(&store, "c", &["a", "b"]);
    let mut device = Asking::new::<B>("a");
    device.ask(&store).assert_names(&["c", "w"]);
    device.ask(&store).assert_names(&[]);
    let mut expect = |names: &[&str], kinds: &[ChangeKind]| {
        backend.advance(5);
        let told = device.ask(&store);
        told.assert_names(names);
        names.iter().for_each(|name| {
            told.assert_kinds(name, kinds);
        });
    };
    let said = send(&store, "m1", "w", 1).msg_id;
    expect(&["w"], &[Messages]);
    expect(&[], &[]);
    read(&store, "a", "w", said).unwrap();
    expect(&["w"], &[Read]);
    read(&store, "m1", "w", said).unwrap();
    mute(&store, "m1", "w", true);
    expect(&[], &[]);
    mute(&store, "a", "w", true);
    expect(&["w"], &[Membership]);
    change(&store, "w", add("new"));
    expect(&["w"], &[Membership]);
    change(&store, "w", set_role("new", Role::Admin));
    expect(&["w"], &[Membership]);
    send(&store, "m1", "w", 2);
    send(&store, "b", "c", 2);
    expect(&["c", "w"], &[Messages]);
    let mut late = Asking::new::<B>("late");
    late.ask(&store).assert_names(&[]);
    change(&store, "w", add("late"));
    let told = late.ask(&store);
    told.assert_names(&["w"]);
    assert_eq!(told.assert_kinds("w", &[Messages, Membership]).unread, 0);
    change(&store, "w", remove("late"));
    late.ask(&store).assert_left("w");
}

fn nothing_is_lost_when_a_group_grows_and_shrinks<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    // After which steps the device asks: it must learn of the last message whatever it was away for.
    for asks in 0..32_u32 {
        let (name, reader) = (format!("c{asks}"), format!("a{asks}"));
        group(&store, &name, &[&reader, "b"]);
        group(&store, &format!("quiet{asks}"), &[&reader]);
        let mut device = Asking::new::<B>(&reader);
        device.ask(&store);
        let mut known = 0;
        let steps: [&dyn Fn(); 6] = [
            &|| drop(send(&store, "b", &name, 1)),
            &|| drop(change(&store, &name, crowd(true))),
            &|| drop(send(&store, "b", &name, 2)),
            &|| drop(change(&store, &name, crowd(false))),
            &|| drop(send(&store, "b", &name, 3)),
            &|| drop(change(&store, &name, set_role("b", Role::Admin))),
        ];
        let seq_after = [1, 1, 2, 2, 3, 3];
        for (at, step) in steps.iter().enumerate() {
            backend.advance(5);
            step();
            if asks & 1 << at == 0 && at + 1 < steps.len() {
                continue;
            }
            let told = device.ask(&store);
            told.assert_names(&[&name]);
            let news: &[ChangeKind] = if seq_after[at] > known { &[Messages] } else { &[] };
            assert_eq!(told.assert_kinds(&name, news).head_seq, seq_after[at], "asks {asks:b}");
            known = seq_after[at];
            device.ask(&store).assert_names(&[]);
        }
    }
}

/// Which number it stands by then must not be above that of what comes next.
fn a_cold_group_that_grows_and_shrinks_hides_nothing_of_another<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    group(&store, "other", &["a", "b"]);
    group(&store, "cold", &["a", "b"]);
    let mut device = Asking::new::<B>("a");
    device.ask(&store).assert_names(&["cold", "other"]);
    backend.evict(&store);
    change(&store, "cold", crowd(true));
    change(&store, "cold", crowd(false));
    device.ask(&store).assert_names(&["cold"]);
    send(&store, "b", "other", 1);
    backend.advance(2_000);
    device.ask(&store).assert_names(&["other"]);
}

/// What was said in it last is older than what the store knows of the user.
fn a_walk_in_small_parts_ends_though_a_group_has_shrunk<B: Backend>() {
    // A store that forgets after each call begins anew at each part.
    if B::REPEATS {
        return;
    }
    let backend = B::clocked();
    let store = backend.open();
    let names = ["c1", "c2", "c3"];
    for name in names {
        group(&store, name, &["a", "b"]);
        send(&store, "b", name, 1);
        backend.advance(5_000);
    }
    Asking::new::<B>("a").ask(&store).assert_names(&names);
    for name in names {
        change(&store, name, crowd(true));
        change(&store, name, crowd(false));
    }
    let mut device = Asking::new::<B>("a");
    let mut parts = 1;
    device.ask_in_parts(&store, 1, |part| parts = part + 1).assert_names(&names);
    assert_eq!(parts, names.len());
    device.ask(&store).assert_names(&[]);
    assert_eq!(listed(&store, "a", 1), ["c3", "c2", "c1"]);
}

fn wide_groups_stand_in_the_list_where_they_belong<B: Backend>() {
    let backend = B::clocked();
    let store = backend.open();
    let step = |step: &dyn Fn(), order: &[&str]| {
        // Servers tell times of large groups apart to about a second.
        backend.advance(3_000);
        step();
        for limit in [1, 2, 3, 100] {
            assert_eq!(listed(&store, "a", limit), order, "in parts of {limit}");
        }
    };
    step(&|| wide_group(&store, "w1"), &["w1"]);
    step(&|| group(&store, "c1", &["a", "m1"]), &["c1", "w1"]);
    step(&|| wide_group(&store, "w2"), &["w2", "c1", "w1"]);
    step(&|| group(&store, "c2", &["a", "m1"]), &["c2", "w2", "c1", "w1"]);
    step(&|| drop(send(&store, "m1", "w1", 1)), &["w1", "c2", "w2", "c1"]);
    step(&|| drop(send(&store, "m1", "c1", 1)), &["c1", "w1", "c2", "w2"]);
    // Others who come and go move nothing, even when a group becomes wide or ceases to be.
    step(&|| drop(change(&store, "c2", crowd(true))), &["c1", "w1", "c2", "w2"]);
    step(&|| drop(send(&store, "m1", "w2", 1)), &["w2", "c1", "w1", "c2"]);
    let few = MemberChange { remove: (2..9).map(|n| user(&format!("m{n}"))).collect(), ..Default::default() };
    step(&|| drop(change(&store, "w1", few.clone())), &["w2", "c1", "w1", "c2"]);
    step(&|| drop(change(&store, "c2", few.clone())), &["w2", "c1", "w1", "c2"]);
    step(&|| drop(send(&store, "m1", "c2", 1)), &["c2", "w2", "c1", "w1"]);
    step(&|| drop(change(&store, "w2", remove("a"))), &["c2", "c1", "w1"]);
}
