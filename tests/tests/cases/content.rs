//! Cases about what a message holds: NUL, emoji, the largest body, types that are not stored.

use im_tests::follow::{global_all, offline, up_to_date};
use im_tests::push::due;
use im_tests::routes::SEND;
use im_tests::seed;
use im_tests::shape;
use im_tests::talk::{contents, conversation, group, pull, send, send_batch, text, texts};
use im_tests::tenant::Tenant;
use im_tests::walk::{Direction, pull_all, sync_all};
use serde_json::{Value, json};

/// Sends `all` and expects them back, byte for byte, by every way to read.
async fn comes_back(tenant: &Tenant, all: &[String]) {
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let batch: Vec<Value> =
        all.iter().enumerate().map(|(n, content)| text("room", &n.to_string(), content)).collect();
    for part in batch.chunks(100) {
        send_batch(&ann, part).await;
    }
    for limit in [7, 100] {
        let down = pull_all(&ben, "room", Direction::Down, limit).await;
        assert_eq!(texts(&down), all);
    }
    let synced = sync_all(&ben, json!({"conversationId": "room"})).await;
    assert_eq!(texts(&synced), all);
    let msg_ids: Vec<&Value> = synced.iter().map(|message| &message["msgId"]).take(100).collect();
    let body = json!({"conversationId": "room", "msgIds": msg_ids});
    let found = ben.ok(im_tests::routes::GET, body).await;
    let mut found = texts(shape::list(&found, "messages"));
    let mut wanted: Vec<String> = all.iter().take(100).cloned().collect();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
}

#[tokio::test]
async fn c26_nul_is_stored_exactly() {
    let nuls = ["\0", "a\0b", "\0\0\0", "end\0", "\0begin", "after"];
    comes_back(&Tenant::new("c26"), &nuls.map(str::to_owned)).await;
}

#[tokio::test]
async fn c26_nul_is_stored_exactly_beside_the_content() {
    let tenant = Tenant::new("c26-beside");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let with_nul = json!({"k\u{0}": "\u{0}", "\u{0}": ["a\u{0}b"]});
    let mut message = text("room", "ext", "a\0b");
    message["ext"] = with_nul.clone();
    let first = send(&ann, message.clone()).await;
    let page = pull(&ann, json!({"conversationId": "room", "limit": 1})).await;
    assert_eq!(page["messages"][0]["ext"], with_nul);
    // What follows a NUL is content like any other, also to tell a retry from a conflict.
    assert_eq!(send(&ann, message.clone()).await["msgId"], first["msgId"]);
    message["content"] = "a\0c".into();
    ann.post(SEND, message).await.refused("conflict");
    assert_eq!(conversation(&ann, "room").await["lastMsg"]["summary"], "a\0b");
}

#[tokio::test]
async fn c27_emoji_and_combining_characters_come_back_exact() {
    let family = "👨\u{200d}👩\u{200d}👧\u{200d}👦";
    let all = [
        "😀",
        "ś",
        "s\u{301}",
        family,
        "🏳\u{fe0f}\u{200d}🌈",
        "🇺🇳",
        "👍🏽",
        "e\u{301}\u{302}",
        "한국어",
        "\u{1112}\u{1161}\u{11ab}",
        "العربية",
        "\u{202e}right to left\u{202c}",
        "\u{feff}mark",
        "\u{fffd}\u{fffe}\u{ffff}",
        "\u{10ffff}",
        "\u{2028}\u{2029}",
        "𠮷野家",
        "ﬀ",
    ];
    comes_back(&Tenant::new("c27"), &all.map(str::to_owned)).await;
}

#[tokio::test]
async fn c27_white_space_and_quotes_come_back_exact() {
    let all = [
        " ",
        "\t\tindented\r\n\r\nlines \n",
        "\"quoted\" \\ / \u{7f}",
        "'; DROP TABLE message; --",
        "{\"json\": [1, 2.50, null]}",
        "%00%s${x}{{y}}",
        "\u{1}\u{2}\u{1b}[31m",
        "null",
        "0",
        "<script>&amp;</script>",
        "line\u{85}separator",
    ];
    comes_back(&Tenant::new("c27-space"), &all.map(str::to_owned)).await;
}

#[tokio::test]
async fn c27_any_unicode_text_comes_back_exact() {
    let mut rng = seed::rng("c27_any_unicode_text_comes_back_exact");
    let all: Vec<String> = (0..300).map(|_| seed::text(&mut rng, 200)).collect();
    comes_back(&Tenant::new("c27-any"), &all).await;
}

#[tokio::test]
async fn c33_a_typing_notice_is_refused_and_counts_nowhere() {
    let tenant = Tenant::new("c33");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let before = conversation(&ben, "room").await;
    let cursor = up_to_date(&ben).await;
    for kind in ["typing", "presence", "receipt", "composing"] {
        let mut notice = text("room", kind, "");
        notice["type"] = kind.into();
        ann.post(SEND, notice).await.refused("invalid_request").naming("type");
    }
    assert_eq!(conversation(&ben, "room").await, before);
    assert!(contents(&ben, "room").await.is_empty());
    assert_eq!(global_all(&ben, &cursor, 100).await.0, Vec::<Value>::new(), "nothing has changed");
    assert_eq!(offline(&ben).await, (0, 0));
    assert_eq!(due(&tenant.service(), json!({})).await, Vec::<Value>::new());
}

#[tokio::test]
async fn c52_the_largest_body_comes_back_exact() {
    let all = ["x".repeat(65_536), "あ".repeat(65_536 / 3), "\u{1f600}".repeat(65_536 / 4)];
    comes_back(&Tenant::new("c52"), &all).await;
}

#[tokio::test]
async fn c52_one_byte_more_is_refused_and_not_cut() {
    let tenant = Tenant::new("c52-more");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    for content in ["x".repeat(65_537), format!("{}x", "あ".repeat(65_536 / 3 + 1))] {
        ann.post(SEND, text("room", "1", &content)).await.refused("too_large").naming("content");
    }
    assert!(contents(&ann, "room").await.is_empty());
}
