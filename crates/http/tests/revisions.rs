//! What is done to messages after they were sent, over a real store: the fields of each answer, who may do what,
//! and calls for several messages that fail in part.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{Service, fields, service, token, user};
use serde_json::{Value, json};

const RECALL: &str = "/api/msg/recall";
const EDIT: &str = "/api/msg/edit";
const DELETE: &str = "/api/msg/delete";
const VERSIONS: &str = "/api/msg/versions";

/// A group of alice and bob, and the ids of so many messages of bob.
fn team(s: &Service, messages: usize) -> Vec<Value> {
    let create = json!({ "conversationId": "team", "type": "group", "members": ["bob"] });
    s.ok(&user("alice"), "/api/conversation/create", create);
    let one = |n: usize| {
        let content = format!("text {n}");
        let clients = n.to_string();
        json!({ "conversationId": "team", "clientMsgId": clients, "type": "text", "content": content })
    };
    (0..messages).map(|n| s.ok(&user("bob"), "/api/msg/send", one(n))["msgId"].clone()).collect()
}

fn edit_of(msg_id: &Value, content: &str) -> Value {
    json!({ "conversationId": "team", "msgId": msg_id, "content": content })
}

fn delete_of(msg_ids: &[Value]) -> Value {
    json!({ "conversationId": "team", "msgIds": msg_ids, "scope": "all" })
}

fn admin() -> String {
    token("acme", "root", json!({ "scope": "admin" }))
}

#[test]
fn answers_have_the_fields_of_the_contract() {
    let s = Service::new();
    let ids = team(&s, 2);
    let unchanged = s.ok(&user("bob"), EDIT, edit_of(&ids[0], "text 0"));
    assert_eq!(unchanged, json!({ "msgId": ids[0] }));
    let edited = s.ok(&user("bob"), EDIT, edit_of(&ids[0], "another"));
    assert_eq!(fields(&edited), ["controlMsgId", "msgId", "seq"]);
    assert_eq!((&edited["msgId"], &edited["seq"]), (&ids[0], &json!(3)));
    let get = json!({ "conversationId": "team", "msgIds": [ids[0]] });
    let found = &s.ok(&user("alice"), "/api/msg/get", get)["messages"][0];
    assert_eq!((&found["content"], &found["status"]), (&json!("another"), &json!("normal")));
    assert_eq!(found["editTime"], common::NOW_MS);
    let recall = json!({ "conversationId": "team", "msgId": ids[1] });
    assert_eq!(fields(&s.ok(&user("bob"), RECALL, recall)), ["controlMsgId", "msgId", "seq"]);
    let deleted = s.ok(&user("bob"), DELETE, delete_of(&ids[..1]));
    assert_eq!(fields(&deleted), ["results"]);
    assert_eq!(fields(&deleted["results"][0]), ["controlMsgId", "msgId", "seq"]);
}

#[test]
fn each_message_is_deleted_on_its_own() {
    let s = Service::new();
    let ids = team(&s, 3);
    s.ok(&user("bob"), RECALL, json!({ "conversationId": "team", "msgId": ids[1] }));
    let mut wanted = delete_of(&[ids[0].clone(), ids[1].clone(), json!("7"), ids[2].clone(), ids[0].clone()]);
    wanted["reason"] = json!("spam");
    let answer = s.ok(&user("alice"), DELETE, wanted);
    let results = answer["results"].as_array().unwrap();
    let codes: Vec<_> = results.iter().map(|result| result["error"]["code"].as_str()).collect();
    assert_eq!(codes, [None, Some("conflict"), Some("message_not_found"), None, None]);
    let named: Vec<_> = results.iter().map(|result| result["error"]["field"].as_str()).collect();
    assert_eq!(named, [None, Some("msgId"), Some("msgId"), None, None]);
    assert_eq!(results[0], results[4]);
    let versions = s.ok(&admin(), VERSIONS, json!({ "conversationId": "team", "msgId": ids[0] }));
    assert_eq!(versions["versions"][1]["reason"], "spam");
    let nowhere = json!({ "conversationId": "nowhere", "msgIds": [1, 2], "scope": "all" });
    let answer = s.ok(&user("alice"), DELETE, nowhere);
    assert_eq!(answer["results"][1]["error"]["code"], "conversation_not_found");
}

#[test]
fn each_message_is_deleted_for_one_user_on_its_own() {
    let s = Service::new();
    let ids = team(&s, 2);
    let mut wanted = delete_of(&[ids[0].clone(), json!("7"), ids[0].clone()]);
    wanted["scope"] = json!("me");
    let answer = s.ok(&user("alice"), DELETE, wanted.clone());
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results[0], json!({ "msgId": ids[0] }));
    assert_eq!(results[2], results[0]);
    assert_eq!(results[1]["error"]["code"], "message_not_found");
    assert_eq!(results[1]["error"]["field"], "msgIds");
    let get = json!({ "conversationId": "team", "msgIds": ids });
    let missing = |who: &str| s.ok(&user(who), "/api/msg/get", get.clone())["missing"].clone();
    assert_eq!((missing("alice"), missing("bob")), (json!([ids[0]]), json!([])));
    // Whoever it is about is named by a service, and no operator without being a member.
    wanted["userId"] = json!("bob");
    s.ok(&service(), DELETE, wanted.clone());
    assert_eq!(missing("bob"), json!([ids[0]]));
    wanted["userId"] = json!("stranger");
    let answer = s.ok(&service(), DELETE, wanted.clone());
    assert_eq!(answer["results"][2]["error"]["code"], "not_member");
    wanted["conversationId"] = json!("nowhere");
    let answer = s.ok(&service(), DELETE, wanted);
    assert_eq!(answer["results"][0]["error"]["code"], "conversation_not_found");
}

#[test]
fn bad_bodies_name_their_field() {
    let s = Service::new();
    let ids = team(&s, 1);
    let invalid = |path: &str, body: Value| {
        let (status, code, field) = s.refused(&user("bob"), path, body);
        assert_eq!((status, code.as_str()), (400, "invalid_request"));
        field.unwrap()
    };
    let mut wanted = delete_of(&ids);
    for scope in [json!("mine"), json!("everybody"), Value::Null, json!(1)] {
        wanted["scope"] = scope;
        assert_eq!(invalid(DELETE, wanted.clone()), "scope");
    }
    assert_eq!(invalid(DELETE, json!({ "conversationId": "team", "msgIds": ids })), "scope");
    wanted["scope"] = json!("me");
    wanted["reason"] = json!("none is kept");
    assert_eq!(invalid(DELETE, wanted), "reason");
    assert_eq!(invalid(DELETE, delete_of(&[])), "msgIds");
    assert_eq!(invalid(DELETE, delete_of(&vec![json!(1); 101])), "msgIds");
    assert_eq!(invalid(EDIT, json!({ "conversationId": "team", "msgId": ids[0] })), "content");
    assert_eq!(invalid(EDIT, json!({ "conversationId": "team", "content": "x" })), "msgId");
    let long = "x".repeat(201);
    let mut wanted = delete_of(&ids);
    wanted["reason"] = json!(long);
    let refused = s.refused(&user("bob"), DELETE, wanted);
    assert_eq!(refused, (413, "too_large".into(), Some("reason".into())));
    let refused = s.refused(&user("bob"), EDIT, edit_of(&ids[0], &"x".repeat(65_537)));
    assert_eq!(refused, (413, "too_large".into(), Some("content".into())));
}

#[test]
fn the_sender_and_whoever_acts_for_the_sender_edits() {
    let s = Service::new();
    let ids = team(&s, 1);
    for by in [user("alice"), service(), admin()] {
        let refused = s.refused(&by, EDIT, edit_of(&ids[0], "not mine"));
        assert_eq!(refused, (403, "forbidden".into(), None));
    }
    let mut wanted = edit_of(&ids[0], "for bob");
    wanted["userId"] = json!("bob");
    let refused = s.refused(&user("alice"), EDIT, wanted.clone());
    assert_eq!(refused, (403, "forbidden".into(), Some("userId".into())));
    s.ok(&service(), EDIT, wanted);
    s.ok(&user("alice"), DELETE, delete_of(&ids));
    let refused = s.refused(&user("bob"), EDIT, edit_of(&ids[0], "again"));
    assert_eq!(refused, (409, "conflict".into(), Some("msgId".into())));
}

#[test]
fn an_admin_sees_what_messages_were() {
    let s = Service::new();
    let ids = team(&s, 1);
    let wanted = json!({ "conversationId": "team", "msgId": ids[0] });
    s.ok(&user("bob"), EDIT, edit_of(&ids[0], "another"));
    let mut recall = wanted.clone();
    recall["reason"] = json!("a slip");
    s.ok(&user("alice"), RECALL, recall);
    for by in [user("bob"), service()] {
        assert_eq!(s.refused(&by, VERSIONS, wanted.clone()), (403, "forbidden".into(), None));
    }
    let answer = s.ok(&admin(), VERSIONS, wanted);
    let at = common::NOW_MS;
    let expected = json!({ "versions": [
        { "content": "text 0", "editTime": at, "by": "bob", "action": "send" },
        { "content": "another", "editTime": at, "by": "bob", "action": "edit", "role": "sender" },
        { "content": "", "editTime": at, "by": "alice", "action": "recall", "role": "owner", "reason": "a slip" },
    ] });
    assert_eq!(answer, expected);
    let missing = json!({ "conversationId": "team", "msgId": "7" });
    assert_eq!(
        s.refused(&admin(), VERSIONS, missing),
        (404, "message_not_found".into(), Some("msgId".into()))
    );
}
