//! Every route over a real store, natively: the fields of each answer, who may act for whom, batches
//! that fail in part, and the headers on every answer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;
mod following;

use common::{Service, fields, service, token, user};
use serde_json::{Value, json};

fn team(service: &Service) {
    let create = json!({ "conversationId": "team", "type": "group", "members": ["bob"] });
    service.ok(&user("alice"), "/api/conversation/create", create);
}

fn message(id: &str) -> Value {
    json!({ "conversationId": "team", "clientMsgId": id, "type": "text", "content": format!("text of {id}") })
}

fn send(service: &Service, id: &str) -> Value {
    service.ok(&user("alice"), "/api/msg/send", message(id))
}

#[test]
fn conversations_have_the_fields_of_the_contract() {
    let service = Service::new();
    team(&service);
    let get =
        |name: &str| service.ok(&user(name), "/api/conversation/get", json!({ "conversationId": "team" }));
    let empty = get("bob");
    let names = [
        "conversationId",
        "createTime",
        "epoch",
        "headSeq",
        "lastMsg",
        "memberCount",
        "muted",
        "readMsgId",
        "type",
        "unread",
        "updateTime",
    ];
    assert_eq!(fields(&empty), names);
    assert_eq!(
        (&empty["lastMsg"], &empty["memberCount"], &empty["type"]),
        (&Value::Null, &json!(2), &json!("group"))
    );
    send(&service, "1");
    let last = &get("bob")["lastMsg"];
    assert_eq!(fields(last), ["createTime", "msgId", "senderId", "seq", "status", "summary", "type"]);
    assert_eq!(last["summary"], "text of 1");
    let list = service.ok(&user("bob"), "/api/conversation/list", json!({}));
    assert_eq!(fields(&list), ["conversations", "cursor", "hasMore"]);
    assert_eq!(list["conversations"][0], get("bob"));
    let members = json!({ "conversationId": "team", "add": ["carol"], "roles": { "bob": "admin" } });
    let changed = service.ok(&user("alice"), "/api/conversation/members", members);
    assert_eq!(changed["memberCount"], 3);
}

#[test]
fn messages_and_pages_have_the_fields_of_the_contract() {
    let service = Service::new();
    team(&service);
    let receipt = send(&service, "1");
    assert_eq!(
        fields(&receipt),
        ["ack", "conversationId", "createTime", "duplicate", "epoch", "msgId", "seq"]
    );
    assert_eq!(
        (&receipt["ack"], &receipt["duplicate"], &receipt["seq"]),
        (&json!("accepted"), &json!(false), &json!(1))
    );
    assert_eq!(send(&service, "1")["duplicate"], true);
    let mut reply = message("2");
    reply["replyTo"] = json!({ "msgId": receipt["msgId"] });
    reply["ext"] = json!({ "mark": 1.5 });
    reply["ack"] = json!("persisted");
    assert_eq!(service.ok(&user("bob"), "/api/msg/send", reply)["ack"], "persisted");

    let page = service.ok(&user("bob"), "/api/msg/pull", json!({ "conversationId": "team" }));
    assert_eq!(fields(&page), ["conversationId", "cursor", "epoch", "hasMore", "headSeq", "messages"]);
    let [newest, oldest] = page["messages"].as_array().unwrap().as_slice() else { panic!("{page}") };
    let plain = [
        "clientMsgId",
        "content",
        "conversationId",
        "createTime",
        "msgId",
        "senderId",
        "seq",
        "status",
        "type",
    ];
    assert_eq!(fields(oldest), plain);
    assert_eq!(newest["ext"], json!({ "mark": 1.5 }));
    assert_eq!(fields(&newest["replyTo"]), ["msgId", "preview", "senderId", "status"]);
    assert_eq!(newest["replyTo"]["msgId"], receipt["msgId"]);
    assert!(newest["msgId"].is_string() && page["cursor"] == oldest["msgId"]);

    let id: u64 = receipt["msgId"].as_str().unwrap().parse().unwrap();
    let get = json!({ "conversationId": "team", "msgIds": [id, "7"] });
    let found = service.ok(&user("bob"), "/api/msg/get", get);
    assert_eq!(found, json!({ "messages": [oldest], "missing": ["7"] }));
}

#[test]
fn a_batch_stores_the_good_and_names_the_bad() {
    let service = Service::new();
    team(&service);
    let mut recall = message("2");
    recall["type"] = json!("recall");
    let mut other = message("3");
    other["conversationId"] = json!("nowhere");
    let items = json!({ "messages": [message("1"), recall, other, message("4"), 5, message("1")] });
    let answer = service.ok(&user("alice"), "/api/msg/send", items);
    let results = answer["results"].as_array().unwrap();
    let codes: Vec<_> = results.iter().map(|result| result["error"]["code"].as_str()).collect();
    let bad = Some("invalid_request");
    assert_eq!(codes, [None, bad, Some("conversation_not_found"), None, bad, None]);
    assert_eq!(
        (&results[1]["error"]["field"], &results[4]["error"]["field"]),
        (&json!("type"), &json!("messages[4]"))
    );
    assert_eq!(
        (&results[0]["seq"], &results[3]["seq"], &results[5]["duplicate"]),
        (&json!(1), &json!(2), &json!(true))
    );

    let all_bad = service.ok(&user("alice"), "/api/msg/send", json!({ "messages": [{}, 1] }));
    assert_eq!(all_bad["results"][0]["error"]["field"], "clientMsgId");
}

#[test]
fn several_pulls_answer_each_on_its_own() {
    let service = Service::new();
    team(&service);
    send(&service, "1");
    let pull = |limit: i64| json!({ "conversationId": "team", "limit": limit });
    let requests = json!({ "requests": [pull(0), pull(1), { "conversationId": "nowhere" }] });
    let answer = service.ok(&user("bob"), "/api/msg/pull", requests);
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results[0]["error"]["field"], "limit");
    assert_eq!(results[1]["messages"][0]["clientMsgId"], "1");
    assert_eq!(results[2]["error"]["code"], "conversation_not_found");
    let own_user = json!({ "requests": [{ "conversationId": "team", "userId": "bob" }] });
    assert_eq!(service.ok(&user("bob"), "/api/msg/pull", own_user)["results"][0]["error"]["field"], "userId");
}

#[test]
fn a_device_follows_its_conversation() {
    let service = Service::new();
    team(&service);
    let first = send(&service, "1");
    send(&service, "2");
    let phone = token("acme", "bob", json!({ "dev": "phone" }));
    let page = service.ok(&phone, "/api/msg/sync", json!({ "conversationId": "team", "limit": 1 }));
    let names = ["conversationId", "cursor", "epoch", "hasMore", "headSeq", "messages", "position"];
    assert_eq!(fields(&page), names);
    assert_eq!(
        (&page["cursor"], &page["position"], &page["hasMore"]),
        (&first["msgId"], &json!("0"), &json!(true))
    );
    let confirm = json!({ "conversationId": "team", "lastMsgId": page["cursor"] });
    let rest = service.ok(&phone, "/api/msg/sync", confirm);
    assert_eq!((&rest["position"], &rest["messages"][0]["clientMsgId"]), (&first["msgId"], &json!("2")));

    let sync = json!({ "conversationId": "team" });
    let no_device = service.refused(&user("bob"), "/api/msg/sync", sync);
    assert_eq!(no_device, (400, "invalid_request".into(), Some("deviceId".into())));
    let other = json!({ "conversationId": "team", "deviceId": "laptop" });
    assert_eq!(
        service.refused(&phone, "/api/msg/sync", other),
        (403, "forbidden".into(), Some("deviceId".into()))
    );
    let by_service = json!({ "conversationId": "team", "userId": "bob", "deviceId": "laptop" });
    assert_eq!(
        service.ok(&common::service(), "/api/msg/sync", by_service)["messages"].as_array().unwrap().len(),
        2
    );
}

#[test]
fn only_a_service_acts_for_others() {
    let s = Service::new();
    team(&s);
    let mut as_bob = message("1");
    as_bob["userId"] = json!("bob");
    assert_eq!(
        s.refused(&user("alice"), "/api/msg/send", as_bob.clone()),
        (403, "forbidden".into(), Some("userId".into()))
    );
    s.ok(&service(), "/api/msg/send", as_bob.clone());
    as_bob["clientMsgId"] = json!("2");
    let batch = json!({ "userId": "alice", "messages": [as_bob, message("3")] });
    s.ok(&service(), "/api/msg/send", batch);
    let page = s.ok(&service(), "/api/msg/pull", json!({ "conversationId": "team", "userId": "bob" }));
    let senders: Vec<_> =
        page["messages"].as_array().unwrap().iter().map(|m| m["senderId"].as_str().unwrap()).collect();
    assert_eq!(senders, ["alice", "bob", "bob"]);
    let system = json!({ "type": "system", "members": ["bob"] });
    assert_eq!(
        s.refused(&user("alice"), "/api/conversation/create", system.clone()),
        (403, "forbidden".into(), Some("type".into()))
    );
    assert_eq!(s.ok(&service(), "/api/conversation/create", system)["type"], "system");
}

#[test]
fn strangers_and_other_tenants_see_nothing() {
    let service = Service::new();
    team(&service);
    send(&service, "1");
    let pull = json!({ "conversationId": "team" });
    let stranger = service.refused(&user("mallory"), "/api/msg/pull", pull.clone());
    assert_eq!(stranger, (403, "not_member".into(), None));
    let elsewhere = token("globex", "alice", json!({}));
    assert_eq!(service.refused(&elsewhere, "/api/msg/pull", pull).1, "conversation_not_found");
}

#[test]
fn a_single_chat_is_found_by_its_pair() {
    let service = Service::new();
    let to = |peer: &str, id: &str| json!({ "toUserId": peer, "clientMsgId": id, "type": "text", "content": "hi" });
    let there = service.ok(&user("alice"), "/api/msg/send", to("bob", "1"));
    let back = service.ok(&user("bob"), "/api/msg/send", to("alice", "1"));
    assert_eq!(there["conversationId"], back["conversationId"]);
    let alone = service.refused(&user("alice"), "/api/msg/send", to("alice", "2"));
    assert_eq!(alone, (400, "invalid_request".into(), Some("toUserId".into())));
}

#[test]
fn upkeep_and_health_answer() {
    let s = Service::new();
    let run = s.call(Some(&service()), "POST", "/api/archive/run", b"");
    let report: Value = serde_json::from_slice(&run.body).unwrap();
    assert_eq!(fields(&report), ["backlog", "deadLettered", "drained", "expired", "tiered", "tookMs"]);
    let status = s.call(Some(&service()), "GET", "/api/archive/status", b"");
    let status: Value = serde_json::from_slice(&status.body).unwrap();
    let names = ["backlog", "deadLetters", "epochs", "lastRun", "oldestUnpersistedMs", "partitions", "tiers"];
    assert_eq!(fields(&status), names);
    for (path, body) in [("/api/health", r#"{"status":"ok"}"#), ("/api/ready", r#"{"status":"ready"}"#)] {
        let response = s.call(None, "GET", path, b"");
        assert_eq!((response.status, response.body.as_slice()), (200, body.as_bytes()));
    }
    let document = s.call(None, "GET", "/api/openapi.json", b"");
    assert_eq!(document.header("content-length"), Some(document.body.len().to_string().as_str()));
    assert_eq!(s.call(None, "GET", "/api/nothing", b"").status, 404);
}
