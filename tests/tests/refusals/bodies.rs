//! Proves that a body which is no JSON object of the contract's form is refused on every route,
//! unread, and that no body brings the server down.

use super::Room;
use im_tests::client::Client;
use im_tests::routes::{HEALTH, NEED_NOTHING, OF_OPERATORS, POSTS, SEND, good_body};
use serde_json::json;

/// Ann, or an administrator where it takes one.
fn caller(room: &Room, route: &str) -> Client {
    if OF_OPERATORS.contains(&route) { room.tenant.admin() } else { room.ann.clone() }
}

async fn refused_on_all_routes(room: &Room, bodies: &[&[u8]]) {
    for route in POSTS {
        for body in bodies {
            let answer = caller(room, route).post_bytes(route, body.to_vec()).await;
            answer.refused("invalid_request");
        }
    }
    room.untouched().await;
}

#[tokio::test]
async fn bad_json() {
    let room = Room::new("body-json").await;
    let bodies: [&[u8]; 7] = [
        b"{",
        b"nonsense",
        b"{'a':1}",
        b"{\"limit\":1,}",
        b"{} {}",
        b"{\"limit\":01}",
        b"{\"conversationId\":\"room\"",
    ];
    refused_on_all_routes(&room, &bodies).await;
}

#[tokio::test]
async fn no_body() {
    let room = Room::new("body-none").await;
    for route in POSTS.into_iter().filter(|route| !NEED_NOTHING.contains(route)) {
        for body in ["", " "] {
            caller(&room, route).post_bytes(route, body).await.refused("invalid_request");
        }
    }
    room.untouched().await;
}

#[tokio::test]
async fn no_body_where_nothing_need_be_named() {
    let room = Room::new("body-nothing").await;
    for route in NEED_NOTHING {
        caller(&room, route).post_bytes(route, "").await.ok();
        caller(&room, route).post_bytes(route, " ").await.refused("invalid_request");
    }
    room.untouched().await;
}

#[tokio::test]
async fn no_object() {
    let room = Room::new("body-object").await;
    let bodies: [&[u8]; 7] =
        [b"[]", b"1", b"null", b"true", b"\"room\"", b"[\"room\"]", b"[{\"conversationId\":\"room\"}]"];
    refused_on_all_routes(&room, &bodies).await;
}

#[tokio::test]
async fn no_utf8() {
    let room = Room::new("body-utf8").await;
    // Latin-1, an overlong slash, half a surrogate pair in UTF-8, UTF-16.
    let parts: [&[u8]; 4] = [b"\xe9", b"\xc0\xaf", b"\xed\xa0\xbd", b"\xff\xfe{\0}\0"];
    for part in parts {
        let mut body = br#"{"conversationId":"room","clientMsgId":"1","type":"text","content":""#.to_vec();
        body.extend(part);
        body.extend(br#""}"#);
        room.ann.post_bytes(SEND, body).await.refused("invalid_request");
    }
    room.untouched().await;
}

#[tokio::test]
async fn half_a_surrogate_pair() {
    let room = Room::new("body-surrogate").await;
    for half in [r"\ud83d", r"\ude00", r"\ud83d\ud83d", r"\ude00\ud83d"] {
        let body =
            format!(r#"{{"conversationId":"room","clientMsgId":"1","type":"text","content":"{half}"}}"#);
        room.ann.post_bytes(SEND, body).await.refused("invalid_request");
    }
    room.untouched().await;
}

#[tokio::test]
async fn bottomless_nesting() {
    let room = Room::new("body-nesting").await;
    for depth in [200, 100_000] {
        let ext = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        let body = format!(
            r#"{{"conversationId":"room","clientMsgId":"1","type":"text","content":"","ext":{ext}}}"#
        );
        let answer = room.ann.post_bytes(SEND, body).await;
        assert!(matches!(answer.status, 400 | 413), "{}", answer.body);
        let arrays = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        room.ann.post_bytes(SEND, arrays).await.refused("invalid_request");
    }
    room.tenant.nobody().get(HEALTH).await.ok();
    room.untouched().await;
}

#[tokio::test]
async fn unknown_field() {
    let room = Room::new("body-unknown").await;
    for route in POSTS {
        let mut body = good_body(route, "room");
        body["surprise"] = 1.into();
        let answer = caller(&room, route).post(route, body).await;
        answer.refused("invalid_request").naming("surprise");
    }
    room.untouched().await;
}

#[tokio::test]
async fn unknown_field_of_a_part() {
    let room = Room::new("body-unknown-part").await;
    let mut body = good_body(SEND, "room");
    body["replyTo"] = json!({"msgId": room.first["msgId"], "surprise": 1});
    let answer = room.ann.post(SEND, body).await;
    answer.refused("invalid_request").naming("replyTo.surprise");
    let body = json!({"requests": [{"conversationId": "room"}], "surprise": 1});
    let answer = room.ann.post("/api/msg/pull", body).await;
    answer.refused("invalid_request").naming("surprise");
    let body = json!({"messages": [good_body(SEND, "room")], "surprise": 1});
    room.ann.post(SEND, body).await.refused("invalid_request").naming("surprise");
    room.untouched().await;
}

#[tokio::test]
async fn one_message_and_a_batch_at_once() {
    let room = Room::new("body-mixed").await;
    let mut body = good_body(SEND, "room");
    body["messages"] = json!([good_body(SEND, "room")]);
    room.ann.post(SEND, body).await.refused("invalid_request");
    let body = json!({"conversationId": "room", "requests": [{"conversationId": "room"}]});
    room.ann.post("/api/msg/pull", body).await.refused("invalid_request");
    room.untouched().await;
}
