//! The routes that follow a user over devices and conversations: what they make of a request, and the
//! fields of each answer, over a store whose answers are known.

mod canned;

use crate::common::{Service, fields, service, token, user};
use canned::{Canned, TIME_MS, id};
use serde_json::{Value, json};

/// Answers, and the one thing the store was asked.
fn ok(s: &Service<Canned>, token: &str, path: &str, body: Value) -> (Value, String) {
    let answer = s.ok(token, path, body);
    let asked = s.store.asked();
    assert_eq!(asked.len(), 1, "{path}: {asked:?}");
    (answer, asked.concat())
}

/// Asserts that `body` is refused, and the store was not asked.
fn refused(s: &Service<Canned>, token: &str, path: &str, body: Value, (code, field): (&str, &str)) {
    let (_, found, named) = s.refused(token, path, body.clone());
    assert_eq!((found.as_str(), named.as_deref()), (code, Some(field)), "{path} {body}");
    assert!(s.store.asked().is_empty(), "{path} {body}");
}

fn canned() -> Service<Canned> {
    Service::over(Canned::default())
}

fn phone() -> String {
    token("acme", "bob", json!({ "dev": "phone" }))
}

#[test]
fn global_tells_what_has_changed() {
    let s = canned();
    let (start, asked) = ok(&s, &phone(), "/api/sync/global", json!({}));
    assert_eq!(asked, r#"bob (Some("phone"), None, 100)"#);
    assert_eq!(fields(&start), ["changed", "cursor", "hasMore", "reset"]);
    assert_eq!(start["reset"], json!({ "reason": "epoch_changed", "oldestMsgId": "0" }));
    assert_eq!(start["changed"][0]["left"], true);

    let (next, asked) =
        ok(&s, &phone(), "/api/sync/global", json!({ "cursor": start["cursor"], "limit": 7 }));
    assert_eq!(asked, r#"bob (Some("phone"), Some("e.7.8"), 7)"#);
    let changed = json!({
        "conversationId": "team", "headMsgId": id().to_string(), "headSeq": 3, "unread": 1,
        "readMsgId": "0", "kinds": ["messages", "read"],
    });
    assert_eq!(next, json!({ "cursor": "e.7.8", "changed": [changed], "hasMore": false }));
}

#[test]
fn a_digest_is_conversations_with_their_newest_messages() {
    let s = canned();
    let (start, asked) = ok(&s, &phone(), "/api/sync/digest", json!({}));
    assert_eq!(asked, r#"bob (Some("phone"), "", 50, 1)"#);
    assert_eq!(fields(&start), ["conversations", "cursor", "hasMore"]);
    let digested = &start["conversations"][0];
    let names = [
        "conversationId",
        "createTime",
        "epoch",
        "headSeq",
        "lastMsg",
        "latest",
        "memberCount",
        "muted",
        "readMsgId",
        "retentionMs",
        "type",
        "unread",
        "updateTime",
    ];
    assert_eq!(fields(digested), names);
    assert_eq!(digested["latest"][0]["conversationId"], "team");
    assert_eq!(digested["latest"][0]["msgId"], id().to_string());
    let body = json!({ "cursor": start["cursor"], "limit": 2, "latest": 5 });
    assert_eq!(ok(&s, &phone(), "/api/sync/digest", body).1, r#"bob (Some("phone"), "7.team", 2, 5)"#);
}

#[test]
fn reading_and_counting_are_the_users_on_whatever_device() {
    let s = canned();
    let body = json!({ "conversationId": "team", "msgId": id().number() });
    let (read, asked) = ok(&s, &user("bob"), "/api/sync/read", body);
    assert_eq!(asked, format!(r#"bob ("team", {})"#, id()));
    assert_eq!(read, json!({ "readMsgId": id().to_string(), "unread": 2 }));

    let (totals, asked) = ok(&s, &user("bob"), "/api/sync/offline", json!({}));
    assert_eq!((totals, asked.as_str()), (json!({ "conversations": 2, "messages": 7 }), r#"bob "totals""#));

    let (devices, asked) = ok(&s, &user("bob"), "/api/sync/devices", json!({ "forget": "laptop" }));
    assert_eq!(asked, r#"bob Some("laptop")"#);
    assert_eq!(devices, json!({ "devices": [{ "deviceId": "phone", "lastSeen": TIME_MS }] }));
    assert_eq!(ok(&s, &user("bob"), "/api/sync/devices", json!({})).1, "bob None");
}

#[test]
fn settings_are_changed_where_they_are_named() {
    let s = canned();
    let body = json!({ "conversationId": "team", "muted": false, "history": "from_join" });
    let (conversation, asked) = ok(&s, &user("bob"), "/api/conversation/update", body);
    assert_eq!(asked, r#"bob ("team", Some(false), (Some("from_join"), None, None))"#);
    assert_eq!((&conversation["conversationId"], &conversation["muted"]), (&json!("team"), &json!(true)));
    let nothing = json!({ "conversationId": "team" });
    refused(&s, &user("bob"), "/api/conversation/update", nothing, ("invalid_request", "muted"));

    for (retention, keep_for) in [(json!(null), "Policy"), (json!(0), "Ms(0)"), (json!(60_000), "Ms(60000)")]
    {
        let body = json!({ "conversationId": "team", "retentionMs": retention });
        let (conversation, asked) = ok(&s, &user("bob"), "/api/conversation/update", body);
        assert_eq!(asked, format!(r#"bob ("team", None, (None, Some({keep_for}), None))"#));
        assert_eq!(conversation["retentionMs"], 60_000);
    }
    let hold = json!({ "conversationId": "team", "legalHold": true });
    let admin = token("acme", "root", json!({ "scope": "admin" }));
    let (_, asked) = ok(&s, &admin, "/api/conversation/update", hold.clone());
    assert_eq!(asked, r#"root ("team", None, (None, None, Some(true)))"#);
    for other in [user("bob"), service()] {
        refused(&s, &other, "/api/conversation/update", hold.clone(), ("forbidden", "legalHold"));
    }

    let (settings, asked) = ok(&s, &user("bob"), "/api/push/settings", json!({}));
    assert_eq!(asked, "bob (None, None)");
    assert_eq!(settings, json!({ "showContent": true, "muted": ["team"] }));
    let body = json!({ "showContent": false, "muted": ["team", "friends"] });
    let (_, asked) = ok(&s, &user("bob"), "/api/push/settings", body);
    assert_eq!(asked, r#"bob (Some(false), Some(["team", "friends"]))"#);
    assert_eq!(ok(&s, &user("bob"), "/api/push/settings", json!({ "muted": [] })).1, "bob (None, Some([]))");
}

#[test]
fn a_push_service_acts_for_its_tenant() {
    let s = canned();
    let admin = token("acme", "root", json!({ "scope": "admin" }));
    for token in [service(), admin] {
        let (due, asked) = ok(&s, &token, "/api/push/due", json!({ "limit": 9, "confirm": ["a", "b"] }));
        assert_eq!(asked, r#"acme (9, ["a", "b"])"#);
        let (bob, carol) = (&due["due"][0], &due["due"][1]);
        let names = ["conversations", "leaseId", "messages", "oldestTime", "userId"];
        assert_eq!(fields(carol), names, "what may not be shown is not there");
        assert_eq!((&bob["preview"][0]["content"], &bob["messages"]), (&json!("hi"), &json!(5)));
        assert_eq!(bob["preview"][0]["conversationId"], "team");
    }
    let (status, code, _) = s.refused(&user("bob"), "/api/push/due", json!({}));
    assert_eq!((status, code.as_str()), (403, "forbidden"));
    let someone = json!({ "userId": "bob" });
    refused(&s, &service(), "/api/push/due", someone, ("invalid_request", "userId"));
    refused(&s, &service(), "/api/push/due", json!({ "confirm": [""] }), ("invalid_request", "confirm[0]"));
}

#[test]
fn a_service_names_the_user_and_the_device() {
    let s = canned();
    let backend = token("acme", "backend", json!({ "scope": "service", "dev": "rack" }));
    let asked = |path: &str, body: Value| ok(&s, &backend, path, body).1;
    let bob = || json!({ "userId": "bob" });
    let laptop = || json!({ "userId": "bob", "deviceId": "laptop" });
    assert_eq!(asked("/api/sync/global", laptop()), r#"bob (Some("laptop"), None, 100)"#);
    assert_eq!(asked("/api/sync/global", bob()), "bob (None, None, 100)", "its own device is not bob's");
    assert_eq!(asked("/api/sync/digest", bob()), r#"bob (None, "", 50, 1)"#);
    assert_eq!(asked("/api/sync/global", json!({})), r#"backend (Some("rack"), None, 100)"#);
    assert_eq!(asked("/api/sync/offline", bob()), r#"bob "totals""#);
    assert_eq!(asked("/api/sync/devices", bob()), "bob None");
    assert_eq!(asked("/api/push/settings", bob()), "bob (None, None)");
    let sync = json!({ "conversationId": "team", "userId": "bob" });
    refused(&s, &backend, "/api/msg/sync", sync, ("invalid_request", "deviceId"));

    for path in ["/api/sync/global", "/api/sync/digest", "/api/sync/offline", "/api/sync/devices"] {
        refused(&s, &user("alice"), path, bob(), ("forbidden", "userId"));
    }
    let mut read = bob();
    read["conversationId"] = json!("team");
    read["msgId"] = json!("1");
    refused(&s, &user("alice"), "/api/sync/read", read, ("forbidden", "userId"));
    refused(&s, &user("alice"), "/api/push/settings", bob(), ("forbidden", "userId"));
    for path in ["/api/sync/global", "/api/sync/digest"] {
        refused(&s, &phone(), path, json!({ "deviceId": "laptop" }), ("forbidden", "deviceId"));
    }
}

#[test]
fn no_body_is_an_empty_one_and_a_device_is_not_needed() {
    let s = canned();
    for (path, wanted) in [
        ("/api/sync/global", "bob (None, None, 100)"),
        ("/api/sync/digest", r#"bob (None, "", 50, 1)"#),
        ("/api/sync/offline", r#"bob "totals""#),
        ("/api/sync/devices", "bob None"),
        ("/api/push/settings", "bob (None, None)"),
    ] {
        assert_eq!(s.call(Some(&user("bob")), "POST", path, b"").status, 200, "{path}");
        assert_eq!(s.store.asked(), [wanted], "{path}");
        refused(&s, &user("bob"), path, json!({ "bogus": 1 }), ("invalid_request", "bogus"));
    }
    assert_eq!(s.call(Some(&service()), "POST", "/api/push/due", b"").status, 200);
    assert_eq!(s.store.asked(), ["acme (100, [])"]);
}
