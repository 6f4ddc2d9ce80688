//! Proves that what a message carries comes back as it was sent: every type, `ext`, quotes, ids in
//! either spelling.

use im_tests::routes::GET;
use im_tests::shape;
use im_tests::talk::{contents, group, pull, say, send, send_batch, text};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};

#[tokio::test]
async fn every_type_is_stored_as_sent() {
    let tenant = Tenant::new("send-types");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let types = ["text", "image", "voice", "video", "file", "system", "custom"];
    let batch: Vec<Value> = types
        .iter()
        .map(|kind| {
            let content = json!({"url": format!("https://media.example/{kind}")}).to_string();
            json!({
                "conversationId": "room", "clientMsgId": kind, "type": kind, "content": content,
            })
        })
        .collect();
    send_batch(&ann, &batch).await;
    let page = pull(&ann, json!({"conversationId": "room", "direction": "down"})).await;
    for (sent, found) in batch.iter().zip(shape::list(&page, "messages")) {
        assert_eq!(found["type"], sent["type"]);
        assert_eq!(found["content"], sent["content"]);
    }
    assert_eq!(shape::list(&page, "messages").len(), types.len());
}

#[tokio::test]
async fn an_empty_content_is_a_message() {
    let tenant = Tenant::new("send-empty");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    send(&ann, text("room", "1", "")).await;
    assert_eq!(contents(&ann, "room").await, [""]);
}

#[tokio::test]
async fn ext_comes_back_equal() {
    let tenant = Tenant::new("send-ext");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let exts = [
        json!({}),
        json!({
            "list": [1, -2.5, null, true, "😀 \u{0} \" \\"], "deep": {"er": {"": []}},
            "large": 9_007_199_254_740_993_u64,
        }),
        // Exactly the 4,096 bytes that are allowed.
        json!({"k": "x".repeat(4_096 - r#"{"k":""}"#.len())}),
    ];
    for (n, ext) in exts.iter().enumerate() {
        let mut message = text("room", &n.to_string(), "with ext");
        message["ext"] = ext.clone();
        send(&ann, message).await;
    }
    let page = pull(&ann, json!({"conversationId": "room", "direction": "down"})).await;
    let found: Vec<&Value> = shape::list(&page, "messages").iter().map(|m| &m["ext"]).collect();
    assert_eq!(found, exts.iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_reply_shows_what_it_quotes() {
    let tenant = Tenant::new("send-reply");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let first = say(&ann, "room", "what time?").await;
    let mut reply = text("room", "1", "at noon");
    reply["replyTo"] = json!({"msgId": first["msgId"]});
    send(&ben, reply).await;
    let page = pull(&ann, json!({"conversationId": "room"})).await;
    let quote = &page["messages"][0]["replyTo"];
    assert_eq!(quote["msgId"], first["msgId"]);
    assert_eq!(quote["senderId"], "ann");
    assert_eq!(quote["preview"], "what time?");
    assert_eq!(quote["status"], "normal");
}

#[tokio::test]
async fn ids_are_taken_as_strings_and_as_integers() {
    let tenant = Tenant::new("send-ids");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let first = say(&ann, "room", "first").await;
    let second = say(&ann, "room", "second").await;
    let number = shape::id(&first, "msgId");
    for spelling in [json!(number), json!(number.to_string())] {
        let mut reply = text("room", &format!("reply to {spelling}"), "third");
        reply["replyTo"] = json!({"msgId": spelling});
        send(&ann, reply).await;
        let request =
            json!({"conversationId": "room", "lastMsgId": spelling, "direction": "down", "limit": 1});
        let page = pull(&ann, request).await;
        assert_eq!(page["messages"][0]["msgId"], second["msgId"]);
        let found = ann.ok(GET, json!({"conversationId": "room", "msgIds": [spelling]})).await;
        assert_eq!(found["messages"][0]["msgId"], first["msgId"]);
    }
}

#[tokio::test]
async fn the_optional_marks_of_a_message_are_taken() {
    let tenant = Tenant::new("send-marks");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let mut message = text("room", "1", "quiet");
    message["silent"] = true.into();
    message["clientTime"] = 1_700_000_000_000_u64.into();
    let receipt = send(&ann, message).await;
    assert!(shape::int(&receipt, "createTime") > 1_700_000_000_000, "the server's own time");
    assert_eq!(contents(&ann, "room").await, ["quiet"]);
}
