//! What there is of one user, over a real store: the fields of each answer, its parts, and who may ask.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{Service, fields, service, token, user};
use serde_json::{Value, json};

const EXPORT: &str = "/api/archive/export";

fn admin() -> String {
    token("acme", "root", json!({ "scope": "admin" }))
}

/// A group in which bob has said so many things, and synced with a phone.
fn team(s: &Service, messages: usize) {
    let create = json!({ "conversationId": "team", "type": "group", "members": ["bob"] });
    s.ok(&user("alice"), "/api/conversation/create", create);
    for n in 0..messages {
        let one = json!({
            "conversationId": "team", "clientMsgId": n.to_string(), "type": "text", "content": format!("text {n}"),
        });
        s.ok(&user("bob"), "/api/msg/send", one);
    }
    let phone = token("acme", "bob", json!({ "dev": "phone" }));
    s.ok(&phone, "/api/msg/sync", json!({ "conversationId": "team", "autoAdvance": true }));
}

#[test]
fn a_user_is_taken_out_with_all_fields() {
    let s = Service::new();
    team(&s, 2);
    let answer = s.ok(&admin(), EXPORT, json!({ "userId": "bob" }));
    assert_eq!(fields(&answer), ["cursor", "hasMore", "memberships", "messages", "profile", "userId"]);
    assert_eq!((&answer["userId"], &answer["hasMore"]), (&json!("bob"), &json!(false)));
    assert_eq!(fields(&answer["profile"]), ["devices", "pushSettings"]);
    assert_eq!(answer["profile"]["devices"][0]["deviceId"], "phone");
    assert_eq!(answer["profile"]["pushSettings"], json!({ "showContent": true, "muted": [] }));
    let messages = answer["messages"].as_array().unwrap();
    let said: Vec<&Value> = messages.iter().map(|one| &one["content"]).collect();
    assert_eq!(said, [&json!("text 0"), &json!("text 1")]);
    assert_eq!(messages[0]["conversationId"], "team");
    let membership = &answer["memberships"][0];
    let names =
        ["conversationId", "hiddenMsgIds", "joinedAfterMsgId", "muted", "positions", "readMsgId", "role"];
    assert_eq!(fields(membership), names);
    assert_eq!((&membership["role"], &membership["muted"]), (&json!("member"), &json!(false)));
    assert_eq!(membership["positions"], json!([{ "deviceId": "phone", "msgId": messages[1]["msgId"] }]));
}

#[test]
fn what_a_user_has_hidden_is_named() {
    let s = Service::new();
    team(&s, 2);
    let page = s.ok(&user("bob"), "/api/msg/pull", json!({ "conversationId": "team" }));
    let hidden = &page["messages"][1]["msgId"];
    let hide = json!({ "conversationId": "team", "msgIds": [hidden], "scope": "me" });
    s.ok(&user("bob"), "/api/msg/delete", hide);
    let answer = s.ok(&admin(), EXPORT, json!({ "userId": "bob" }));
    assert_eq!(answer["memberships"][0]["hiddenMsgIds"], json!([hidden]));
    let of_another = s.ok(&admin(), EXPORT, json!({ "userId": "alice" }));
    assert_eq!(of_another["memberships"][0]["hiddenMsgIds"], json!([]));
}

#[test]
fn who_has_left_is_no_member_there() {
    let s = Service::new();
    team(&s, 1);
    s.ok(&user("alice"), "/api/conversation/members", json!({ "conversationId": "team", "remove": ["bob"] }));
    let answer = s.ok(&admin(), EXPORT, json!({ "userId": "bob" }));
    assert_eq!(fields(&answer["memberships"][0]), ["conversationId", "hiddenMsgIds", "positions"]);
    assert_eq!(answer["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn parts_go_on_where_the_one_before_ended() {
    let s = Service::new();
    team(&s, 3);
    let mut said = Vec::new();
    let mut cursor = json!("");
    for n in 0..4 {
        let part = s.ok(&admin(), EXPORT, json!({ "userId": "bob", "cursor": cursor, "limit": 1 }));
        assert_eq!(part.get("profile").is_some(), n == 0, "{part}");
        said.extend(part["messages"].as_array().unwrap().clone());
        cursor = part["cursor"].clone();
        if part["hasMore"] == false {
            break;
        }
    }
    assert_eq!(said.len(), 3);
}

#[test]
fn it_is_for_administrators_and_names_what_is_wrong() {
    let s = Service::new();
    team(&s, 1);
    for caller in [user("bob"), service()] {
        assert_eq!(s.refused(&caller, EXPORT, json!({ "userId": "bob" })).1, "forbidden");
    }
    let other = token("another", "root", json!({ "scope": "admin" }));
    assert_eq!(s.ok(&other, EXPORT, json!({ "userId": "bob" }))["messages"], json!([]));
    assert_eq!(s.refused(&admin(), EXPORT, json!({})).2.as_deref(), Some("userId"));
    let bad = json!({ "userId": "bob", "cursor": "x" });
    assert_eq!(s.refused(&admin(), EXPORT, bad).2.as_deref(), Some("cursor"));
}
