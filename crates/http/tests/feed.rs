//! The feed of changes over a real store: the fields of each answer, its parts, and who may read it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{Service, fields, service, token, user};
use serde_json::{Value, json};

const CHANGES: &str = "/api/changes";

/// A group with a message, and an edit and a recall of it.
fn team(s: &Service) -> Value {
    let create = json!({ "conversationId": "team", "type": "group", "members": ["bob"] });
    s.ok(&user("alice"), "/api/conversation/create", create);
    let one = json!({ "conversationId": "team", "clientMsgId": "1", "type": "text", "content": "hello" });
    let msg_id = s.ok(&user("bob"), "/api/msg/send", one)["msgId"].clone();
    let edit = json!({ "conversationId": "team", "msgId": msg_id, "content": "hello, all" });
    s.ok(&user("bob"), "/api/msg/edit", edit);
    msg_id
}

#[test]
fn events_have_the_fields_of_the_contract() {
    let s = Service::new();
    let msg_id = team(&s);
    let answer = s.ok(&service(), CHANGES, json!({}));
    assert_eq!(fields(&answer), ["cursor", "events", "hasMore"]);
    assert_eq!(answer["hasMore"], false);
    let [append, edit] = answer["events"].as_array().unwrap().as_slice() else { panic!("{answer}") };
    assert_eq!(fields(append), ["conversationId", "eventId", "kind", "message"]);
    assert_eq!((&append["kind"], &append["conversationId"]), (&json!("append"), &json!("team")));
    assert_eq!((&append["message"]["msgId"], &append["eventId"]), (&msg_id, &msg_id));
    assert_eq!(append["message"]["content"], "hello, all");
    assert_eq!(fields(edit), ["conversationId", "eventId", "kind", "message", "target"]);
    assert_eq!(edit["kind"], "edit");
    assert_eq!(edit["message"]["ref"], json!({ "msgId": msg_id, "action": "edit" }));
    assert_eq!(edit["target"], append["message"]);
}

#[test]
fn parts_go_on_where_the_one_before_ended() {
    let s = Service::new();
    let msg_id = team(&s);
    let first = s.ok(&service(), CHANGES, json!({ "cursor": "", "limit": 1 }));
    assert_eq!((first["events"].as_array().unwrap().len(), &first["hasMore"]), (1, &json!(true)));
    let rest = s.ok(&service(), CHANGES, json!({ "cursor": first["cursor"], "limit": 100 }));
    assert_eq!(rest["events"][0]["kind"], "edit");
    let end = s.ok(&service(), CHANGES, json!({ "cursor": rest["cursor"] }));
    assert_eq!((&end["events"], &end["hasMore"]), (&json!([]), &json!(false)));
    s.ok(&user("bob"), "/api/msg/recall", json!({ "conversationId": "team", "msgId": msg_id }));
    let recalled = s.ok(&service(), CHANGES, json!({ "cursor": end["cursor"] }));
    assert_eq!(recalled["events"][0]["kind"], "recall");
    let target = &recalled["events"][0]["target"];
    assert_eq!((&target["status"], &target["content"]), (&json!("recalled"), &json!("")));
}

#[test]
fn it_is_for_services_and_administrators_of_the_tenant() {
    let s = Service::new();
    team(&s);
    assert_eq!(s.refused(&user("bob"), CHANGES, json!({})).1, "forbidden");
    for scope in ["service", "admin"] {
        let other = token("another", "backend", json!({ "scope": scope }));
        assert_eq!(s.ok(&other, CHANGES, json!({}))["events"], json!([]));
        let own = token("acme", "backend", json!({ "scope": scope }));
        assert_eq!(s.ok(&own, CHANGES, json!({}))["events"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn what_is_no_cursor_and_no_limit_is_named() {
    let s = Service::new();
    for (field, value) in
        [("cursor", json!("t.1")), ("cursor", json!(7)), ("limit", json!(0)), ("limit", json!(101))]
    {
        let (status, code, named) = s.refused(&service(), CHANGES, json!({ field: value }));
        assert_eq!((status, code.as_str(), named.as_deref()), (400, "invalid_request", Some(field)));
    }
}
