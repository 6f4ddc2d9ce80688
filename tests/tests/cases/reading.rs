//! Cases about what a reader sees, and when: at once, once, to the end, without rounding.

use im_tests::client::Client;
use im_tests::follow::{digest, global_all, up_to_date};
use im_tests::push::until_due;
use im_tests::routes::{CREATE, DIGEST, GET, GLOBAL, LIST, PULL, PUSH_DUE, READ, SEND, SYNC, UPDATE};
use im_tests::shape;
use im_tests::talk::{contents, conversation, group, ids, pull, say, say_many, send, send_batch, text};
use im_tests::tenant::Tenant;
use im_tests::walk::{Direction, list_all, pull_all, pull_where, sync_all};
use jiff::Timestamp;
use jiff::tz::Offset;
use serde_json::{Value, json};
use std::time::Duration;

/// What was sent is there at once, on every way.
#[tokio::test]
async fn c06_a_message_is_read_back_right_after_it_was_sent() {
    let tenant = Tenant::new("c06");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    for n in 1..=30 {
        let receipt = say(&ann, "room", &n.to_string()).await;
        let newest = pull(&ben, json!({"conversationId": "room", "limit": 1})).await;
        assert_eq!(newest["messages"][0]["msgId"], receipt["msgId"]);
        let body = json!({"conversationId": "room", "msgIds": [receipt["msgId"]]});
        assert_eq!(ben.ok(GET, body).await["messages"][0]["seq"], n);
        let body = json!({"conversationId": "room", "autoAdvance": true});
        let synced = ben.ok(SYNC, body).await;
        assert_eq!(ids(shape::list(&synced, "messages")), [shape::id(&receipt, "msgId")]);
        assert_eq!(conversation(&ben, "room").await["lastMsg"]["msgId"], receipt["msgId"]);
    }
}

#[tokio::test]
async fn c11_a_cursor_moves_and_comes_to_an_end() {
    let tenant = Tenant::new("c11");
    let ann = tenant.user("ann");
    for count in [0, 1, 19, 20, 21, 40, 100, 101] {
        let id = format!("room-{count}");
        group(&ann, &id, &[]).await;
        say_many(&ann, &id, count).await;
        // The walks themselves check that each cursor moves and that the end says so.
        for direction in Direction::BOTH {
            assert_eq!(pull_all(&ann, &id, direction, 20).await.len(), count);
        }
        let missed = sync_all(&ann, json!({"conversationId": id, "limit": 20})).await;
        assert_eq!(missed.len(), count);
    }
    assert_eq!(list_all(&ann, 1).await.len(), 8);
}

#[tokio::test]
async fn c14_a_new_conversation_is_in_the_list_at_once_on_top() {
    let tenant = Tenant::new("c14");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    let top = |user: Client| async move {
        let page = user.ok(LIST, json!({"limit": 1})).await;
        shape::list(&page, "conversations").first().cloned()
    };
    let mut cursor = String::new();
    for n in 0..20 {
        let message = json!({
            "toUserId": "ben", "clientMsgId": "1", "type": "text", "content": n.to_string(),
        });
        let receipt = send(&tenant.user(&format!("friend-{n}")), message).await;
        let found = top(ben.clone()).await.expect("a conversation");
        assert_eq!(found["conversationId"], receipt["conversationId"]);
        assert_eq!(found["lastMsg"]["summary"], n.to_string());
        let (changed, next) = global_all(&ben, &cursor, 100).await;
        let last = changed.last().expect("it is told");
        assert_eq!(
            (&last["conversationId"], &last["headMsgId"]),
            (&found["conversationId"], &receipt["msgId"])
        );
        cursor = next;
        let id = format!("group-{n}");
        group(&ann, &id, &["ben"]).await;
        say(&ann, &id, "hello").await;
        assert_eq!(top(ben.clone()).await.expect("a conversation")["conversationId"], id);
        let first = digest(&ben, json!({"limit": 1})).await["conversations"][0].clone();
        assert_eq!((&first["conversationId"], &first["latest"][0]["content"]), (&json!(id), &json!("hello")));
    }
    assert_eq!(list_all(&ben, 7).await.len(), 40);
}

/// Parses and writes numbers as JavaScript does.
fn through_doubles(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.iter().map(through_doubles).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), through_doubles(field))).collect()
        }
        other => other.clone(),
    }
}

fn ids_are_strings(value: &Value, place: &str) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| ids_are_strings(item, place)),
        Value::Object(fields) => {
            for (name, field) in fields {
                let id = name.ends_with("Id") || matches!(name.as_str(), "cursor" | "position");
                assert!(!id || field.is_string(), "{place}: `{name}` is {field}");
                let all = |items: &Value| items.as_array().is_some_and(|i| i.iter().all(Value::is_string));
                assert!(!(name.ends_with("Ids") || name == "missing") || all(field), "{place}: {name}");
                ids_are_strings(field, place);
            }
        }
        _ => {}
    }
}

#[tokio::test]
async fn c16_every_id_survives_a_parse_through_doubles() {
    let tenant = Tenant::new("c16");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    let first = say(&ann, "room", "first").await;
    let mut reply = text("room", "2", "second");
    reply["replyTo"] = json!({"msgId": first["msgId"]});
    let id = first["msgId"].clone();
    for (route, body) in [
        (SEND, reply.clone()),
        (SEND, json!({"messages": [reply]})),
        (CREATE, json!({"conversationId": "room", "type": "group", "members": []})),
        (PULL, json!({"conversationId": "room"})),
        (PULL, json!({"requests": [{"conversationId": "room"}]})),
        (GET, json!({"conversationId": "room", "msgIds": [id, "1"]})),
        (SYNC, json!({"conversationId": "room", "lastMsgId": id})),
        (SYNC, json!({"conversationId": "room", "lastMsgId": i64::MAX.to_string()})),
        (LIST, json!({})),
        ("/api/conversation/get", json!({"conversationId": "room"})),
        (UPDATE, json!({"conversationId": "room", "muted": false})),
        (GLOBAL, json!({})),
        (DIGEST, json!({"latest": 5})),
        (READ, json!({"conversationId": "room", "msgId": id})),
    ] {
        let answer = ann.ok(route, body).await;
        ids_are_strings(&answer, route);
    }
    // What JavaScript read is as good as what was sent.
    let page = through_doubles(&pull(&ann, json!({"conversationId": "room", "limit": 1})).await);
    let request = json!({"conversationId": "room", "lastMsgId": page["cursor"]});
    assert_eq!(pull(&ann, request).await["messages"][0]["content"], "first");
    let more: Vec<Value> = (0..5).map(|n| text("room", &format!("more-{n}"), "more")).collect();
    send_batch(&ann, &more).await;
    let due = until_due(&tenant.service(), ["ben"]).await;
    ids_are_strings(&due["ben"], PUSH_DUE);
}

#[tokio::test]
async fn c37_what_one_connection_sent_another_reads_at_once() {
    let tenant = Tenant::new("c37");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    for n in 1..=25 {
        let receipt = say(&ann.fresh(), "room", &n.to_string()).await;
        let mut readers = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let reader = tenant.user("ben").fresh();
            readers.spawn(async move { pull(&reader, json!({"conversationId": "room", "limit": 1})).await });
        }
        for page in readers.join_all().await {
            assert_eq!(page["messages"][0]["msgId"], receipt["msgId"]);
            assert_eq!(page["headSeq"], n);
        }
    }
}

#[tokio::test]
async fn c38_a_gap_is_flagged_and_the_walk_fills_it() {
    let tenant = Tenant::new("c38");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let seen = say(&ann, "room", "seen").await;
    ben.ok(SYNC, json!({"conversationId": "room", "lastMsgId": seen["msgId"]})).await;
    let cursor = up_to_date(&ben).await;
    let missed = say_many(&ann, "room", 500).await;
    let (changed, _) = global_all(&ben, &cursor, 20).await;
    assert_eq!(changed.len(), 1);
    let gap = (&changed[0]["headSeq"], &changed[0]["headMsgId"]);
    assert_eq!(gap, (&json!(501), &missed[499]["msgId"]), "what it has ends at 1");
    let page = ben.ok(SYNC, json!({"conversationId": "room", "limit": 20})).await;
    assert_eq!(shape::list(&page, "messages").len(), 20);
    assert_eq!(page["hasMore"], true);
    assert_eq!(page["headSeq"], 501);
    let walked = sync_all(&ben, json!({"conversationId": "room", "limit": 20})).await;
    assert_eq!(ids(&walked), ids(&missed));
}

#[tokio::test]
async fn c50_dates_are_exact_whatever_their_offset() {
    let tenant = Tenant::new("c50");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let mut receipts = Vec::new();
    for n in 0..6 {
        receipts.push(say(&ann, "room", &n.to_string()).await);
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let time = |n: usize| shape::int(&receipts[n], "createTime");
    let spell = |ms: u64, seconds: i32| {
        let at = Timestamp::from_millisecond(ms.try_into().expect("this age")).expect("in range");
        at.display_with_offset(Offset::from_seconds(seconds).expect("an offset")).to_string()
    };
    let find = |from: Value, to: Value| {
        let request = json!({
            "conversationId": "room", "direction": "down", "fromTime": from, "toTime": to,
        });
        let ann = ann.clone();
        async move { ids(&pull_where(&ann, request).await) }
    };
    let wanted = ids(&receipts[2..5]);
    assert_eq!(find(json!(time(2)), json!(time(5))).await, wanted);
    // Shanghai, UTC, Newfoundland, Nepal, the date line's two sides.
    for seconds in [8 * 3_600, 0, -12_600, 20_700, 14 * 3_600, -12 * 3_600] {
        let (from, to) = (spell(time(2), seconds), spell(time(5), seconds));
        assert_eq!(find(json!(from), json!(to)).await, wanted, "{from} to {to}");
        assert_eq!(find(json!(from), json!(time(5))).await, wanted);
        let (from, to) = (spell(time(2) + 1, seconds), spell(time(5) + 1, seconds));
        assert_eq!(find(json!(from), json!(to)).await, ids(&receipts[3..6]), "{from} to {to}");
    }
    let utc = spell(time(2), 0).replace("+00:00", "Z");
    assert_eq!(find(json!(utc), json!(time(5))).await, wanted, "{utc}");
    assert_eq!(contents(&ann, "room").await.len(), 6);
}
