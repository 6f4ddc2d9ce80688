//! A user is erased, over a real store: the fields of each answer, what readers find then, and who may do so.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{Service, fields, service, token, user};
use serde_json::json;

const ERASE: &str = "/api/archive/erase";

fn admin() -> String {
    token("acme", "root", json!({ "scope": "admin" }))
}

/// A group in which bob has said something.
fn team(s: &Service) {
    let create = json!({ "conversationId": "team", "type": "group", "members": ["bob"] });
    s.ok(&user("alice"), "/api/conversation/create", create);
    let one = json!({ "conversationId": "team", "clientMsgId": "1", "type": "text", "content": "hello" });
    s.ok(&user("bob"), "/api/msg/send", one);
}

#[test]
fn a_user_is_erased_and_again() {
    let s = Service::new();
    team(&s);
    for _ in 0..2 {
        let answer = s.ok(&admin(), ERASE, json!({ "userId": "bob" }));
        assert_eq!(fields(&answer), ["cursor", "hasMore", "held", "messages"]);
        assert_eq!((&answer["messages"], &answer["hasMore"]), (&json!(1), &json!(false)));
        let page = s.ok(&user("alice"), "/api/msg/pull", json!({ "conversationId": "team" }));
        let message = &page["messages"][0];
        assert_eq!((&message["status"], &message["content"]), (&json!("deleted"), &json!("")));
        assert_ne!(message["clientMsgId"], "1");
    }
    let gone = s.refused(&user("bob"), "/api/msg/pull", json!({ "conversationId": "team" }));
    assert_eq!(gone.1, "not_member");
    let events = s.ok(&service(), "/api/changes", json!({}))["events"].clone();
    let kinds: Vec<&str> =
        events.as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["append"], "from the start it is as it is now");
}

#[test]
fn what_is_held_stays_and_is_named() {
    let s = Service::new();
    team(&s);
    let hold = |held: bool| {
        s.ok(&admin(), "/api/conversation/update", json!({ "conversationId": "team", "legalHold": held }));
    };
    hold(true);
    let answer = s.ok(&admin(), ERASE, json!({ "userId": "bob" }));
    assert_eq!((&answer["held"], &answer["messages"]), (&json!(["team"]), &json!(0)));
    let page = s.ok(&user("bob"), "/api/msg/pull", json!({ "conversationId": "team" }));
    assert_eq!(page["messages"][0]["content"], "hello");
    hold(false);
    let answer = s.ok(&admin(), ERASE, json!({ "userId": "bob" }));
    assert_eq!((&answer["held"], &answer["messages"]), (&json!([]), &json!(1)));
}

#[test]
fn indexes_are_told() {
    let s = Service::new();
    team(&s);
    let cursor = s.ok(&service(), "/api/changes", json!({}))["cursor"].clone();
    s.ok(&admin(), ERASE, json!({ "userId": "bob" }));
    let part = s.ok(&service(), "/api/changes", json!({ "cursor": cursor }));
    let event = &part["events"][0];
    assert_eq!((&event["kind"], &event["message"]["status"]), (&json!("erase"), &json!("deleted")));
    assert_ne!(event["eventId"], event["message"]["msgId"]);
}

#[test]
fn it_is_for_administrators_and_names_what_is_wrong() {
    let s = Service::new();
    team(&s);
    for caller in [user("bob"), service()] {
        assert_eq!(s.refused(&caller, ERASE, json!({ "userId": "bob" })).1, "forbidden");
    }
    let other = token("another", "root", json!({ "scope": "admin" }));
    assert_eq!(s.ok(&other, ERASE, json!({ "userId": "bob" }))["messages"], 0);
    assert_eq!(s.refused(&admin(), ERASE, json!({})).2.as_deref(), Some("userId"));
    assert_eq!(
        s.refused(&admin(), ERASE, json!({ "userId": "bob", "cursor": "x" })).2.as_deref(),
        Some("cursor")
    );
    let page = s.ok(&user("bob"), "/api/msg/pull", json!({ "conversationId": "team" }));
    assert_eq!(page["messages"][0]["content"], "hello");
}
