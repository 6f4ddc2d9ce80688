//! Proves that `pull` pages through history in both directions, that its defaults are the newest
//! 20, that several conversations go in one call, and that `get` finds messages by id.

use im_tests::routes::{GET, PULL};
use im_tests::shape;
use im_tests::talk::{group, ids, pull, say, say_many, send, text, texts};
use im_tests::tenant::Tenant;
use im_tests::walk::{Direction, pull_all};
use serde_json::{Value, json};

#[tokio::test]
async fn the_first_page_is_the_newest_20_newest_first() {
    let tenant = Tenant::new("pull-first");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let receipts = say_many(&ann, "room", 25).await;
    let newest: Vec<String> = (6..=25).rev().map(|n| n.to_string()).collect();
    for start in [json!({}), json!({"lastMsgId": 0}), json!({"lastMsgId": "0", "direction": "up"})] {
        let mut request = start;
        request["conversationId"] = "room".into();
        let page = pull(&ann, request).await;
        assert_eq!(texts(shape::list(&page, "messages")), newest);
        assert_eq!(page["hasMore"], true);
        assert_eq!(page["cursor"], receipts[5]["msgId"]);
        assert_eq!(page["headSeq"], 25);
        assert_eq!(page["conversationId"], "room");
        assert_eq!(page.get("reset"), None);
    }
}

#[tokio::test]
async fn down_from_0_is_the_oldest_first() {
    let tenant = Tenant::new("pull-down");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    say_many(&ann, "room", 25).await;
    let request = json!({"conversationId": "room", "lastMsgId": 0, "direction": "down", "limit": 3});
    let page = pull(&ann, request).await;
    assert_eq!(texts(shape::list(&page, "messages")), ["1", "2", "3"]);
    assert_eq!(page["hasMore"], true);
}

#[tokio::test]
async fn a_cursor_stands_between_older_and_newer() {
    let tenant = Tenant::new("pull-cursor");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let receipts = say_many(&ann, "room", 9).await;
    let middle = &receipts[4]["msgId"];
    let request = |direction: &str| {
        json!({
            "conversationId": "room", "lastMsgId": middle, "direction": direction, "limit": 100,
        })
    };
    let older = pull(&ann, request("up")).await;
    assert_eq!(texts(shape::list(&older, "messages")), ["4", "3", "2", "1"]);
    assert_eq!(older["hasMore"], false);
    let newer = pull(&ann, request("down")).await;
    assert_eq!(texts(shape::list(&newer, "messages")), ["6", "7", "8", "9"]);
    assert_eq!(newer["hasMore"], false);
}

#[tokio::test]
async fn every_page_size_gives_the_same_history() {
    let tenant = Tenant::new("pull-sizes");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    // 100: a page that ends exactly where the history does.
    say_many(&ann, "room", 100).await;
    let all = pull_all(&ann, "room", Direction::Down, 100).await;
    assert_eq!(all.len(), 100);
    let backwards: Vec<Value> = all.iter().rev().cloned().collect();
    for limit in [1, 2, 3, 20, 50, 99, 100] {
        assert_eq!(pull_all(&ann, "room", Direction::Down, limit).await, all, "down {limit}");
        assert_eq!(pull_all(&ann, "room", Direction::Up, limit).await, backwards, "up {limit}");
    }
}

#[tokio::test]
async fn an_empty_page_gives_back_the_cursor_it_was_given() {
    let tenant = Tenant::new("pull-empty");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    for direction in ["up", "down"] {
        let page = pull(&ann, json!({"conversationId": "room", "direction": direction})).await;
        assert_eq!(page["messages"], json!([]));
        assert_eq!(page["hasMore"], false);
        assert_eq!(page["cursor"], "0");
        assert_eq!(page["headSeq"], 0);
    }
    let only = say(&ann, "room", "only").await;
    for direction in ["up", "down"] {
        let request = json!({
            "conversationId": "room", "lastMsgId": only["msgId"], "direction": direction,
        });
        let page = pull(&ann, request).await;
        assert_eq!(page["messages"], json!([]));
        assert_eq!(page["cursor"], only["msgId"]);
    }
}

#[tokio::test]
async fn several_conversations_are_answered_in_order_each_on_its_own() {
    let tenant = Tenant::new("pull-several");
    let ann = tenant.user("ann");
    for room in ["red", "blue"] {
        group(&ann, room, &[]).await;
        say_many(&ann, room, 3).await;
    }
    group(&tenant.user("ben"), "secret", &[]).await;
    let requests = json!([
        {"conversationId": "blue", "limit": 1},
        {"conversationId": "secret"},
        {"conversationId": "nowhere"},
        {"conversationId": "red", "direction": "down", "limit": 2},
        {"conversationId": "blue", "limit": 0},
    ]);
    let answer = ann.ok(PULL, json!({"requests": requests})).await;
    let results = shape::list(&answer, "results");
    assert_eq!(results.len(), 5);
    shape::page(&results[0]);
    shape::page(&results[3]);
    assert_eq!(results[0]["conversationId"], "blue");
    assert_eq!(texts(shape::list(&results[0], "messages")), ["3"]);
    assert_eq!(texts(shape::list(&results[3], "messages")), ["1", "2"]);
    let codes = [(1, "not_member"), (2, "conversation_not_found"), (4, "invalid_request")];
    for (place, code) in codes {
        shape::problem(&results[place]["error"], PULL);
        assert_eq!(results[place]["error"]["code"], code);
    }
    assert_eq!(results[4]["error"]["field"], "limit");
}

#[tokio::test]
async fn fifty_conversations_go_in_one_call() {
    let tenant = Tenant::new("pull-fifty");
    let ann = tenant.user("ann");
    let names: Vec<String> = (0..50).map(|n| format!("room-{n}")).collect();
    for name in &names {
        group(&ann, name, &[]).await;
        say(&ann, name, name).await;
    }
    let requests: Vec<Value> = names.iter().map(|name| json!({"conversationId": name})).collect();
    let answer = ann.ok(PULL, json!({"requests": requests})).await;
    let results = shape::list(&answer, "results");
    assert_eq!(results.len(), 50);
    for (name, page) in names.iter().zip(results) {
        shape::page(page);
        assert_eq!(texts(shape::list(page, "messages")), [name.as_str()]);
    }
}

#[tokio::test]
async fn get_finds_messages_by_id_and_names_the_missing() {
    let tenant = Tenant::new("pull-get");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    group(&ann, "other", &[]).await;
    let receipts = say_many(&ann, "room", 100).await;
    let elsewhere = say(&ann, "other", "elsewhere").await;
    let wanted: Vec<&Value> = receipts.iter().rev().map(|r| &r["msgId"]).collect();
    let found = ann.ok(GET, json!({"conversationId": "room", "msgIds": wanted})).await;
    let messages = shape::list(&found, "messages");
    messages.iter().for_each(shape::message);
    let mut got = ids(messages);
    got.sort_unstable();
    assert_eq!(got, ids(&receipts));
    assert_eq!(found["missing"], json!([]));

    let asked = json!([receipts[0]["msgId"], "1", elsewhere["msgId"]]);
    let found = ann.ok(GET, json!({"conversationId": "room", "msgIds": asked})).await;
    assert_eq!(texts(shape::list(&found, "messages")), ["1"]);
    let mut missing = shape::list(&found, "missing").to_vec();
    missing.sort_by_key(Value::to_string);
    assert_eq!(missing, [json!("1"), elsewhere["msgId"].clone()]);
}

#[tokio::test]
async fn a_page_of_large_messages_leaves_none_out() {
    let tenant = Tenant::new("pull-large");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    for n in 0..100 {
        let content = format!("{n}:{}", "x".repeat(60_000));
        send(&ann, text("room", &n.to_string(), &content)).await;
    }
    for direction in Direction::BOTH {
        let all = pull_all(&ann, "room", direction, 100).await;
        assert_eq!(all.len(), 100);
        assert!(all.iter().all(|m| shape::text(m, "content").len() > 60_000));
    }
}
