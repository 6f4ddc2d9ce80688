//! Proves each limit from both sides: the largest allowed passes, one more is refused by name.

use super::Room;
use im_tests::raw;
use im_tests::routes::{CREATE, DIGEST, GET, GLOBAL, LIST, PULL, PUSH_SETTINGS, SEND, SYNC, good_body};
use im_tests::shape;
use im_tests::talk::{contents, send, send_batch, text};
use serde_json::{Value, json};

const CONTENT_BYTES_MAX: usize = 65_536;
const EXT_BYTES_MAX: usize = 4_096;
const REQUEST_BYTES_MAX: usize = 8 * 1024 * 1024;

async fn limit_refused(label: &str, limit: Value) {
    let room = Room::new(label).await;
    for route in [PULL, SYNC, LIST, GLOBAL, DIGEST] {
        let mut body = good_body(route, "room");
        body["limit"] = limit.clone();
        room.ann.post(route, body).await.refused("invalid_request").naming("limit");
    }
    room.untouched().await;
}

#[tokio::test]
async fn limit_0() {
    limit_refused("limit-0", json!(0)).await;
}

#[tokio::test]
async fn limit_below_0() {
    limit_refused("limit-minus", json!(-1)).await;
}

#[tokio::test]
async fn limit_101() {
    limit_refused("limit-101", json!(101)).await;
}

#[tokio::test]
async fn limits_that_are_no_whole_numbers() {
    for (n, limit) in [json!("20"), json!(1.5), json!(1e30), json!(true)].into_iter().enumerate() {
        limit_refused(&format!("limit-odd-{n}"), limit).await;
    }
}

#[tokio::test]
async fn limits_1_and_100_are_good() {
    let room = Room::new("limit-good").await;
    for route in [PULL, SYNC, LIST, GLOBAL, DIGEST] {
        for limit in [1, 100] {
            let mut body = good_body(route, "room");
            body["limit"] = limit.into();
            room.ann.ok(route, body).await;
        }
    }
    for latest in [1, 5] {
        room.ann.ok(DIGEST, json!({"latest": latest})).await;
    }
}

#[tokio::test]
async fn conversations_muted_in_one_call() {
    let room = Room::new("limit-muted").await;
    let muted = |count: usize| json!({"muted": vec!["room"; count]});
    let settings = room.ann.ok(PUSH_SETTINGS, muted(1_000)).await;
    assert_eq!(settings["muted"], json!(["room"]), "each once");
    let answer = room.ann.post(PUSH_SETTINGS, muted(1_001)).await;
    answer.refused("invalid_request").naming("muted");
}

#[tokio::test]
async fn content_of_the_limit_and_one_byte_more() {
    let room = Room::new("limit-content").await;
    // The limit counts bytes of UTF-8, not characters, and not bytes of the JSON text.
    for (n, unit) in ["x", "é", "あ", "😀", "\n", "\u{1}"].into_iter().enumerate() {
        let mut largest = unit.repeat(CONTENT_BYTES_MAX / unit.len());
        largest.push_str(&"x".repeat(CONTENT_BYTES_MAX - largest.len()));
        let answer = room.ann.post(SEND, text("room", "larger", &format!("{largest}x"))).await;
        answer.refused("too_large").naming("content");
        send(&room.ann, text("room", &n.to_string(), &largest)).await;
        assert_eq!(contents(&room.ben, "room").await[0], largest);
    }
    let found = im_tests::talk::conversation(&room.ann, "room").await;
    assert_eq!(found["headSeq"], 7, "none of the larger ones was stored");
}

#[tokio::test]
async fn ext_of_more_than_the_limit() {
    let room = Room::new("limit-ext").await;
    let mut message = text("room", "1", "x");
    message["ext"] = json!({"k": "x".repeat(EXT_BYTES_MAX - r#"{"k":""}"#.len() + 1)});
    room.ann.post(SEND, message).await.refused("too_large").naming("ext");
    room.untouched().await;
}

#[tokio::test]
async fn body_of_more_than_8_mib() {
    let room = Room::new("limit-body").await;
    let content = "x".repeat(REQUEST_BYTES_MAX);
    let body = text("room", "1", &content).to_string();
    let answer = room.ann.post_bytes(SEND, body.clone()).await;
    answer.refused("too_large");
    room.untouched().await;
    let (base, token) = (room.ann.base().to_owned(), room.ann.token().to_owned());
    let exchange = move || raw::post_chunked(&base, SEND, &token, body.as_bytes());
    let answer = tokio::task::spawn_blocking(exchange).await.expect("no panic");
    assert_eq!(answer.expect("an answer").status, 413, "its length unannounced");
    room.untouched().await;
}

#[tokio::test]
async fn body_of_8_mib_that_is_white_space_mostly() {
    let room = Room::new("limit-white").await;
    let mut body = text("room", "1", "far away").to_string();
    body.insert_str(0, &" ".repeat(REQUEST_BYTES_MAX - body.len()));
    assert_eq!(body.len(), REQUEST_BYTES_MAX);
    shape::receipt(&room.ann.post_bytes(SEND, body.clone()).await.ok());
    body.insert(0, ' ');
    room.ann.post_bytes(SEND, body).await.refused("too_large");
}

#[tokio::test]
async fn a_batch_of_the_largest_messages() {
    let room = Room::new("limit-batch-bytes").await;
    let largest = "x".repeat(CONTENT_BYTES_MAX);
    let batch: Vec<Value> = (0..100).map(|n| text("room", &n.to_string(), &largest)).collect();
    send_batch(&room.ann, &batch).await;
    let all = im_tests::walk::pull_all(&room.ben, "room", im_tests::walk::Direction::Down, 100).await;
    assert_eq!(all.len(), 101);
    assert!(all[1..].iter().all(|message| message["content"] == largest));
}

#[tokio::test]
async fn ids_in_get() {
    let room = Room::new("limit-get").await;
    let ids = |count: usize| (1..=count).map(|n| json!(n)).collect::<Vec<Value>>();
    for (count, good) in [(0, false), (1, true), (100, true), (101, false)] {
        let body = json!({"conversationId": "room", "msgIds": ids(count)});
        let answer = room.ann.post(GET, body).await;
        if good {
            assert_eq!(shape::list(&answer.ok(), "missing").len(), count);
        } else {
            answer.refused("invalid_request").naming("msgIds");
        }
    }
}

#[tokio::test]
async fn conversations_in_one_pull() {
    let room = Room::new("limit-requests").await;
    for (count, good) in [(0, false), (1, true), (50, true), (51, false)] {
        let requests = vec![json!({"conversationId": "room"}); count];
        let answer = room.ann.post(PULL, json!({"requests": requests})).await;
        if good {
            assert_eq!(shape::list(&answer.ok(), "results").len(), count);
        } else {
            answer.refused("invalid_request").naming("requests");
        }
    }
}

#[tokio::test]
async fn more_members_than_a_conversation_may_have() {
    let room = Room::new("limit-members").await;
    let members: Vec<String> = (0..=100_000).map(|n| format!("u{n}")).collect();
    let body = json!({"conversationId": "crowd", "type": "group", "members": members});
    let answer = room.ann.post(CREATE, body).await;
    assert!(matches!(answer.status, 400 | 413), "{}", answer.body);
    answer.naming("members");
    room.untouched().await;
}
