//! Proves that what a user has read is the user's on all devices, never goes back, and that what is unread
//! follows from it.

use im_tests::follow::{offline, read};
use im_tests::routes::{MEMBERS, OFFLINE, READ};
use im_tests::shape;
use im_tests::talk::{conversation, group, say, say_many, send, text};
use im_tests::tenant::Tenant;
use im_tests::walk::list_all;
use serde_json::json;

#[tokio::test]
async fn reading_moves_the_position_on_every_device() {
    let tenant = Tenant::new("read-moves");
    let (phone, laptop) = (tenant.device("ben", "phone"), tenant.device("ben", "laptop"));
    group(&tenant.user("ann"), "room", &["ben"]).await;
    let receipts = say_many(&tenant.user("ann"), "room", 5).await;
    for (n, receipt) in receipts.iter().enumerate() {
        let state = read(&phone, "room", &receipt["msgId"]).await;
        assert_eq!((&state["readMsgId"], &state["unread"]), (&receipt["msgId"], &json!(4 - n)));
        let found = conversation(&laptop, "room").await;
        assert_eq!((&found["readMsgId"], &found["unread"]), (&receipt["msgId"], &json!(4 - n)));
    }
    assert_eq!(conversation(&tenant.user("ann"), "room").await["readMsgId"], "0", "nobody else's");
}

#[tokio::test]
async fn a_lower_one_changes_nothing_and_tells_how_things_stand() {
    let tenant = Tenant::new("read-lower");
    let ben = tenant.user("ben");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    assert_eq!(read(&ben, "room", &json!(0)).await, json!({"readMsgId": "0", "unread": 0}), "none is read");
    let receipts = say_many(&tenant.user("ann"), "room", 5).await;
    let state = read(&ben, "room", &receipts[2]["msgId"]).await;
    for lower in [&receipts[2]["msgId"], &receipts[1]["msgId"], &json!(0), &json!("1")] {
        assert_eq!(read(&ben, "room", lower).await, state, "{lower}");
    }
}

#[tokio::test]
async fn an_id_between_two_messages_is_a_place_too() {
    let tenant = Tenant::new("read-between");
    let ben = tenant.user("ben");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    let receipts = say_many(&tenant.user("ann"), "room", 2).await;
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let last = say(&tenant.user("ann"), "room", "later").await;
    let between = shape::id(&last, "msgId") - 1;
    assert!(between > shape::id(&receipts[1], "msgId"));
    assert_eq!(read(&ben, "room", &json!(between.to_string())).await["unread"], 1);
    assert_eq!(read(&ben, "room", &last["msgId"]).await["unread"], 0);
}

#[tokio::test]
async fn beyond_the_newest_message_there_is_nothing_to_read() {
    let tenant = Tenant::new("read-beyond");
    let ben = tenant.user("ben");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    ben.post(READ, json!({"conversationId": "room", "msgId": "1"})).await.refused("message_not_found");
    let receipts = say_many(&tenant.user("ann"), "room", 3).await;
    let head = shape::id(&receipts[2], "msgId");
    for beyond in [head + 1, head + 1_000_000, i64::MAX as u64] {
        let body = json!({"conversationId": "room", "msgId": beyond.to_string()});
        ben.post(READ, body).await.refused("message_not_found").naming("msgId");
    }
    let found = conversation(&ben, "room").await;
    assert_eq!((&found["readMsgId"], &found["unread"]), (&json!("0"), &json!(3)));
}

#[tokio::test]
async fn own_and_silent_messages_are_never_unread() {
    let tenant = Tenant::new("read-own");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let unread = async || {
        let [of_ann, of_ben] = [conversation(&ann, "room").await, conversation(&ben, "room").await];
        (shape::int(&of_ann, "unread"), shape::int(&of_ben, "unread"))
    };
    say(&ann, "room", "1").await;
    assert_eq!(unread().await, (0, 1));
    let second = say(&ben, "room", "2").await;
    assert_eq!(unread().await, (1, 1), "one's own message does not say that one has read");
    let mut silent = text("room", "3", "3");
    silent["silent"] = true.into();
    send(&ann, silent).await;
    assert_eq!(unread().await, (1, 1));
    say(&ann, "room", "4").await;
    say(&ben, "room", "5").await;
    assert_eq!(unread().await, (2, 2));
    // Own messages on both sides of the place.
    assert_eq!(read(&ben, "room", &second["msgId"]).await["unread"], 1);
    assert_eq!(read(&ann, "room", &second["msgId"]).await["unread"], 1);
    assert_eq!(unread().await, (1, 1));
}

#[tokio::test]
async fn totals_are_the_sum_over_the_conversations() {
    let tenant = Tenant::new("read-totals");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    assert_eq!(offline(&ben).await, (0, 0));
    for (room, count) in [("silent", 0), ("one", 1), ("three", 3), ("many", 120)] {
        group(&ann, room, &["ben"]).await;
        say_many(&ann, room, count).await;
    }
    assert_eq!(offline(&ben).await, (3, 124));
    assert_eq!(offline(&ann).await, (0, 0), "her own");
    let head = conversation(&ben, "many").await["lastMsg"]["msgId"].clone();
    read(&ben, "many", &head).await;
    assert_eq!(offline(&ben).await, (2, 4));
    let sum = list_all(&ben, 2).await.iter().map(|one| shape::int(one, "unread")).sum::<u64>();
    assert_eq!(sum, 4);
    ann.ok(MEMBERS, json!({"conversationId": "three", "remove": ["ben"]})).await;
    assert_eq!(offline(&ben).await, (1, 1), "where he is no member nothing is unread");
    ann.ok(MEMBERS, json!({"conversationId": "three", "add": ["ben"]})).await;
    assert_eq!(offline(&ben).await, (1, 1), "what was said before he joined is not unread");
}

#[tokio::test]
async fn a_service_reads_for_the_user_it_names() {
    let tenant = Tenant::new("read-service");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    let receipts = say_many(&tenant.user("ann"), "room", 3).await;
    let service = tenant.service();
    let body = json!({"userId": "ben", "conversationId": "room", "msgId": receipts[0]["msgId"]});
    assert_eq!(service.ok(READ, body).await, json!({"readMsgId": receipts[0]["msgId"], "unread": 2}));
    let totals = service.ok(OFFLINE, json!({"userId": "ben"})).await;
    assert_eq!(totals, json!({"conversations": 1, "messages": 2}));
    let own = json!({"conversationId": "room", "msgId": receipts[0]["msgId"]});
    service.post(READ, own).await.refused("not_member");
}
