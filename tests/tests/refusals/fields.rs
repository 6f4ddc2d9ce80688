//! Proves that a missing field, a field of the wrong type and a value outside its range are each
//! refused by name.

use super::Room;
use im_tests::routes::{
    CONVERSATION, CREATE, DEAD_LETTERS, DELETE, DEVICES, DIGEST, EDIT, GET, GLOBAL, LIST, MEMBERS,
    OF_OPERATORS, PULL, PUSH_DUE, PUSH_SETTINGS, READ, RECALL, RUN, SEND, SYNC, UPDATE, VERSIONS, good_body,
};
use im_tests::talk::text;
use serde_json::{Value, json};

/// Puts each value in turn into `field` of a good body and expects a refusal that names it.
async fn refused_values(room: &Room, route: &str, field: &str, values: &[Value]) {
    let caller = if OF_OPERATORS.contains(&route) { room.tenant.admin() } else { room.ann.clone() };
    for value in values {
        let mut body = good_body(route, "room");
        body[field] = value.clone();
        let answer = caller.post(route, body).await;
        answer.refused("invalid_request");
        let named = answer.body["field"].as_str().unwrap_or_default();
        // An element of a list may be named with its place.
        let fits = named == field
            || named.starts_with(&format!("{field}["))
            || named.starts_with(&format!("{field}."));
        assert!(fits, "{route}: {field} = {value}: {}", answer.body);
    }
}

#[tokio::test]
async fn missing_field() {
    let room = Room::new("field-missing").await;
    let required: [(&str, &[&str]); 12] = [
        (SEND, &["clientMsgId", "type", "content"]),
        (CREATE, &["type", "members"]),
        (MEMBERS, &["conversationId"]),
        (PULL, &["conversationId"]),
        (GET, &["conversationId", "msgIds"]),
        (SYNC, &["conversationId"]),
        (CONVERSATION, &["conversationId"]),
        (UPDATE, &["conversationId"]),
        (READ, &["conversationId", "msgId"]),
        (RECALL, &["conversationId", "msgId"]),
        (EDIT, &["conversationId", "msgId", "content"]),
        (DELETE, &["conversationId", "msgIds", "scope"]),
    ];
    for (route, fields) in required {
        for field in fields {
            let mut body = good_body(route, "room");
            body.as_object_mut().expect("an object").remove(*field);
            room.ann.post(route, body).await.refused("invalid_request").naming(field);
        }
    }
    room.untouched().await;
}

#[tokio::test]
async fn wrong_type_in_send() {
    let room = Room::new("field-send").await;
    let wrong = [
        ("conversationId", vec![json!(5), json!([]), json!({})]),
        ("clientMsgId", vec![json!(5), json!(null), json!(true)]),
        ("type", vec![json!(1), json!(null), json!([])]),
        ("content", vec![json!(5), json!(null), json!({"text": "x"}), json!(["x"])]),
        ("clientTime", vec![json!("soon"), json!(-1), json!(1.5)]),
        ("replyTo", vec![json!("1"), json!(1), json!([]), json!({})]),
        ("ext", vec![json!("x"), json!(1), json!([1]), json!(true)]),
        ("silent", vec![json!("yes"), json!(1)]),
        ("ack", vec![json!("maybe"), json!(1), json!(true)]),
        ("userId", vec![json!(5), json!([])]),
    ];
    for (field, values) in wrong {
        refused_values(&room, SEND, field, &values).await;
    }
    room.untouched().await;
}

#[tokio::test]
async fn wrong_type_in_conversations() {
    let room = Room::new("field-conversation").await;
    let no_cursors =
        vec![json!(1), json!([]), json!("no cursor of yours"), json!("-1"), json!("x".repeat(3_000))];
    let wrong = [
        (CREATE, "type", vec![json!("crowd"), json!(1), json!(null)]),
        (CREATE, "members", vec![json!("ben"), json!({}), json!([1]), json!([["ben"]]), json!(null)]),
        (CREATE, "history", vec![json!("some"), json!(true)]),
        (CREATE, "conversationId", vec![json!(1)]),
        (MEMBERS, "add", vec![json!("cid"), json!([1])]),
        (MEMBERS, "remove", vec![json!("ben"), json!({})]),
        (MEMBERS, "roles", vec![json!(["ben"]), json!({"ben": "king"}), json!({"ben": 1})]),
        (CONVERSATION, "conversationId", vec![json!(1), json!(null)]),
        (UPDATE, "muted", vec![json!("yes"), json!(1), json!([])]),
        (UPDATE, "history", vec![json!("some"), json!(true)]),
        (UPDATE, "retentionMs", vec![json!("0"), json!(-1), json!(3_153_600_000_001_u64)]),
        (UPDATE, "legalHold", vec![json!("yes"), json!(1)]),
        (LIST, "cursor", no_cursors.clone()),
        (DIGEST, "cursor", no_cursors.clone()),
        (GLOBAL, "cursor", no_cursors),
    ];
    for (route, field, values) in wrong {
        refused_values(&room, route, field, &values).await;
    }
    room.untouched().await;
}

#[tokio::test]
async fn wrong_type_in_reading() {
    let room = Room::new("field-reading").await;
    let no_ids = vec![
        json!(true),
        json!("abc"),
        json!(""),
        json!(-1),
        json!("-1"),
        json!(1.5),
        json!("1.5"),
        json!("1e3"),
        json!(" 1"),
        json!("+1"),
        json!("0x1"),
        json!("9223372036854775808"),
        json!(9_223_372_036_854_775_808_u64),
        json!("99999999999999999999999"),
        json!([]),
    ];
    let wrong = [
        (PULL, "conversationId", vec![json!([]), json!(1)]),
        (PULL, "lastMsgId", no_ids.clone()),
        (SYNC, "lastMsgId", no_ids.clone()),
        (READ, "msgId", no_ids.clone()),
        (RECALL, "msgId", no_ids.clone()),
        (RECALL, "reason", vec![json!(5), json!([]), json!({"of": "it"})]),
        (EDIT, "msgId", no_ids.clone()),
        (EDIT, "content", vec![json!(5), json!(null), json!({"text": "x"})]),
        (DELETE, "msgIds", no_ids.iter().map(|bad| json!([bad])).collect()),
        (DELETE, "msgIds", vec![json!([]), json!(vec!["1"; 101]), json!("1")]),
        (DELETE, "scope", vec![json!("mine"), json!("ALL"), json!(null), json!(1)]),
        (DELETE, "reason", vec![json!(5), json!([])]),
        (VERSIONS, "msgId", no_ids.clone()),
        (GET, "msgIds", no_ids.iter().map(|bad| json!([bad])).collect()),
        (PULL, "direction", vec![json!("sideways"), json!(1), json!("UP"), json!("")]),
        (PULL, "types", vec![json!("text"), json!(["typing"]), json!([1]), json!({})]),
        (SYNC, "autoAdvance", vec![json!("yes"), json!(1)]),
        (SYNC, "epoch", vec![json!(1), json!([])]),
        (RUN, "tasks", vec![json!("drain"), json!(["dance"]), json!([1])]),
        (DEAD_LETTERS, "action", vec![json!("burn"), json!(1)]),
        (DEAD_LETTERS, "limit", vec![json!(0), json!(101), json!("1")]),
        (DIGEST, "latest", vec![json!(0), json!(6), json!(-1), json!("1"), json!(1.5)]),
        (DEVICES, "forget", vec![json!(1), json!(["phone"]), json!("")]),
        (PUSH_SETTINGS, "showContent", vec![json!("no"), json!(0)]),
        (PUSH_SETTINGS, "muted", vec![json!("room"), json!([1]), json!(["a b"]), json!({})]),
        (PUSH_DUE, "confirm", vec![json!("lease"), json!([1]), json!([""]), json!(["x".repeat(201)])]),
        (PUSH_DUE, "limit", vec![json!(0), json!(101), json!("1")]),
        (RUN, "maxMs", vec![json!("long"), json!(-1), json!(1.5)]),
    ];
    for (route, field, values) in wrong {
        refused_values(&room, route, field, &values).await;
    }
    for bad in [json!("room"), json!({}), json!(1)] {
        room.ann.post(PULL, json!({"requests": bad})).await.refused("invalid_request").naming("requests");
    }
    room.untouched().await;
}

#[tokio::test]
async fn times_that_are_none() {
    let room = Room::new("field-times").await;
    let values = [
        json!("yesterday"),
        json!(""),
        json!(true),
        json!(-1),
        json!(1.5),
        json!("1700000000000"),
        // No offset, no such day, no such month, no such hour.
        json!("2024-02-29T12:00:00"),
        json!("2023-02-29T12:00:00Z"),
        json!("2024-13-01T00:00:00Z"),
        json!("2024-01-01T25:00:00Z"),
        json!("2024-01-01"),
        json!("2024-01-01T00:00:00+0800x"),
    ];
    for field in ["fromTime", "toTime"] {
        refused_values(&room, PULL, field, &values).await;
    }
}

#[tokio::test]
async fn unknown_message_type() {
    let room = Room::new("field-type").await;
    let values = ["typing", "TEXT", "", "sticker", "read"].map(|kind| json!(kind));
    refused_values(&room, SEND, "type", &values).await;
    room.untouched().await;
}

#[tokio::test]
async fn control_messages_are_made_by_the_store() {
    let room = Room::new("field-recall").await;
    refused_values(&room, SEND, "type", &[json!("recall")]).await;
    room.untouched().await;
}

#[tokio::test]
async fn a_message_goes_to_one_place() {
    let room = Room::new("field-target").await;
    let mut both = text("room", "1", "x");
    both["toUserId"] = "ben".into();
    room.ann.post(SEND, both).await.refused("invalid_request");
    let neither = json!({"clientMsgId": "1", "type": "text", "content": "x"});
    room.ann.post(SEND, neither).await.refused("invalid_request");
    let own = json!({"toUserId": "ann", "clientMsgId": "1", "type": "text", "content": "x"});
    room.ann.post(SEND, own).await.refused("invalid_request").naming("toUserId");
    room.untouched().await;
}

#[tokio::test]
async fn a_reply_to_nothing() {
    let room = Room::new("field-reply").await;
    for id in ["1", "9223372036854775807"] {
        let mut reply = text("room", "1", "x");
        reply["replyTo"] = json!({"msgId": id});
        let answer = room.ann.post(SEND, reply).await;
        answer.refused("message_not_found").naming("replyTo.msgId");
    }
    room.untouched().await;
}

#[tokio::test]
async fn a_single_chat_of_other_than_two() {
    let room = Room::new("field-single").await;
    for members in [json!([]), json!(["ann"]), json!(["ben", "cid"]), json!(["ann", "ben", "cid"])] {
        let body = json!({"type": "single", "members": members});
        room.ann.post(CREATE, body).await.refused("invalid_request").naming("members");
    }
    room.untouched().await;
}

#[tokio::test]
async fn nothing_to_change() {
    let room = Room::new("field-nothing").await;
    for body in [
        json!({"conversationId": "room"}),
        json!({"conversationId": "room", "add": [], "remove": [], "roles": {}}),
    ] {
        room.ann.post(MEMBERS, body).await.refused("invalid_request");
    }
    room.untouched().await;
}

#[tokio::test]
async fn the_same_id_with_another_type() {
    let room = Room::new("field-conflict").await;
    let body = json!({
        "userId": "ann", "conversationId": "room", "type": "system", "members": ["ben"],
    });
    room.tenant.service().post(CREATE, body).await.refused("conflict");
    room.untouched().await;
}
