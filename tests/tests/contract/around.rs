//! Proves that `around` leads to a message with its neighbours, and on from there in both directions.

use im_tests::routes::{AROUND, CREATE, MEMBERS};
use im_tests::shape;
use im_tests::talk::{group, pull, say, say_many, texts};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};

fn around(msg_id: &Value, before: u32, after: u32) -> Value {
    json!({"conversationId": "room", "msgId": msg_id, "before": before, "after": after})
}

/// Place of the message, how many before and after; which are found, and whether there are more on either side.
type Case = (usize, u32, u32, &'static [&'static str], bool, bool);

#[tokio::test]
async fn the_message_stands_among_older_and_newer_ones() {
    let tenant = Tenant::new("around-middle");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let receipts = say_many(&ann, "room", 9).await;
    let cases: [Case; 8] = [
        (4, 2, 1, &["3", "4", "5", "6"], true, true),
        (4, 0, 0, &["5"], true, true),
        (4, 4, 4, &["1", "2", "3", "4", "5", "6", "7", "8", "9"], false, false),
        (4, 100, 100, &["1", "2", "3", "4", "5", "6", "7", "8", "9"], false, false),
        (0, 3, 0, &["1"], false, true),
        (0, 0, 2, &["1", "2", "3"], false, true),
        (8, 0, 3, &["9"], true, false),
        (8, 1, 0, &["8", "9"], true, false),
    ];
    for (at, before, after, expected, has_older, has_newer) in cases {
        let page = ann.ok(AROUND, around(&receipts[at]["msgId"], before, after)).await;
        shape::page(&page);
        let messages = shape::list(&page, "messages");
        assert_eq!(texts(messages), expected, "{before} before {at}, {after} after");
        let flags = (shape::flag(&page, "hasMoreBefore"), shape::flag(&page, "hasMore"));
        assert_eq!(flags, (has_older, has_newer), "{before} before {at}, {after} after");
        assert_eq!(page["cursor"], messages[messages.len() - 1]["msgId"]);
        assert_eq!(page["headSeq"], 9);
    }
}

#[tokio::test]
async fn it_leads_on_in_both_directions() {
    let tenant = Tenant::new("around-on");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let receipts = say_many(&ann, "room", 60).await;
    let request = json!({"conversationId": "room", "msgId": receipts[29]["msgId"]});
    let page = ann.ok(AROUND, request).await;
    let messages = shape::list(&page, "messages");
    let numbers = |from: u32, to: u32| (from..=to).map(|n| n.to_string()).collect::<Vec<_>>();
    assert_eq!(texts(messages), numbers(10, 50));
    let on = |direction: &str, cursor: &Value| json!({"conversationId": "room", "lastMsgId": cursor, "direction": direction, "limit": 100});
    let newer = pull(&ann, on("down", &page["cursor"])).await;
    assert_eq!(texts(shape::list(&newer, "messages")), numbers(51, 60));
    let older = pull(&ann, on("up", &messages[0]["msgId"])).await;
    let oldest_first: Vec<String> = texts(shape::list(&older, "messages")).into_iter().rev().collect();
    assert_eq!(oldest_first, numbers(1, 9));
}

#[tokio::test]
async fn what_the_reader_may_not_see_is_not_there() {
    let tenant = Tenant::new("around-unseen");
    let (ann, ben, eve) = (tenant.user("ann"), tenant.user("ben"), tenant.user("eve"));
    let room = json!({"conversationId": "room", "type": "group", "members": ["ann"], "history": "from_join"});
    ann.ok(CREATE, room).await;
    group(&ann, "other", &[]).await;
    let old = say(&ann, "room", "old").await;
    let elsewhere = say(&ann, "other", "elsewhere").await;
    ann.ok(MEMBERS, json!({"conversationId": "room", "add": ["ben"]})).await;
    let new = say(&ann, "room", "new").await;
    for unseen in [&old["msgId"], &elsewhere["msgId"], &json!(0), &json!("1")] {
        ben.post(AROUND, around(unseen, 5, 5)).await.refused("message_not_found").naming("msgId");
    }
    let page = ben.ok(AROUND, around(&new["msgId"], 5, 5)).await;
    assert_eq!(texts(shape::list(&page, "messages")), ["new"]);
    assert_eq!(page["hasMoreBefore"], false);
    eve.post(AROUND, around(&new["msgId"], 5, 5)).await.refused("not_member");
    let mut nowhere = around(&new["msgId"], 1, 1);
    nowhere["conversationId"] = "nowhere".into();
    ann.post(AROUND, nowhere).await.refused("conversation_not_found");
    for (field, value) in
        [("before", json!(101)), ("after", json!(-1)), ("msgId", json!("x")), ("more", json!(1))]
    {
        let mut request = around(&new["msgId"], 1, 1);
        request[field] = value;
        ann.post(AROUND, request).await.refused("invalid_request").naming(field);
    }
}
