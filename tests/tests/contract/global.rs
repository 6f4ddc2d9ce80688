//! Proves that `sync/global` tells in which conversations of a user something has changed since a cursor,
//! what, and how each stands now; and nothing when nothing has.

use im_domain::global::{GlobalCursor, Known};
use im_tests::client::Client;
use im_tests::follow::{conversation_ids, each_once, global, global_all, has_kind, read, up_to_date, update};
use im_tests::routes::{GLOBAL, MEMBERS};
use im_tests::shape;
use im_tests::talk::{conversation, group, say, say_many};
use im_tests::tenant::Tenant;
use im_tests::token;
use serde_json::{Value, json};
use std::time::Duration;

/// Expects exactly one conversation to have changed since `cursor`, and gives it and the cursor after it.
async fn only_change(device: &Client, cursor: &str) -> (Value, String) {
    let (changed, cursor) = global_all(device, cursor, 100).await;
    assert_eq!(changed.len(), 1, "{changed:?}");
    (changed[0].clone(), cursor)
}

/// Expects nothing to have changed, and the cursor to be as good as before.
async fn quiet(device: &Client, cursor: &str) {
    for _ in 0..2 {
        let part = global(device, json!({"cursor": cursor})).await;
        assert_eq!(part["changed"], json!([]));
        assert_eq!((&part["hasMore"], part.get("reset")), (&json!(false), None));
    }
}

/// Expects an entry to say how the conversation stands for this user.
async fn as_it_stands(user: &Client, one: &Value) {
    let found = conversation(user, shape::text(one, "conversationId")).await;
    let head = found["lastMsg"].get("msgId").cloned().unwrap_or(json!("0"));
    assert_eq!(one["headMsgId"], head);
    for field in ["headSeq", "unread", "readMsgId"] {
        assert_eq!(one[field], found[field], "{field} of {one}");
    }
    assert_eq!(one.get("left"), None);
}

#[tokio::test]
async fn from_the_start_everything_is_named_as_it_stands() {
    let tenant = Tenant::new("global-start");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    for room in ["silent", "said", "read"] {
        group(&ann, room, &["ben"]).await;
    }
    say_many(&ann, "said", 3).await;
    let receipts = say_many(&ann, "read", 4).await;
    read(&ben, "read", &receipts[1]["msgId"]).await;
    for request in [json!({}), json!({"cursor": ""}), json!({"cursor": "", "limit": 3})] {
        let part = global(&ben, request).await;
        let changed = shape::list(&part, "changed");
        assert_eq!(each_once(changed).into_iter().collect::<Vec<_>>(), ["read", "said", "silent"]);
        for one in changed {
            as_it_stands(&ben, one).await;
        }
        assert_eq!((&part["hasMore"], part.get("reset")), (&json!(false), None));
    }
    assert!(ben.post_bytes(GLOBAL, "").await.ok()["changed"].is_array(), "no body is an empty one");
}

#[tokio::test]
async fn nothing_changed_is_nothing_told() {
    let tenant = Tenant::new("global-quiet");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    quiet(&ben, "").await;
    group(&ann, "room", &["ben"]).await;
    say(&ann, "room", "1").await;
    let cursor = up_to_date(&ben).await;
    quiet(&ben, &cursor).await;
    // What others do elsewhere, and what reads only, is no change.
    group(&ann, "elsewhere", &["cid"]).await;
    say(&ann, "elsewhere", "1").await;
    conversation(&ben, "room").await;
    quiet(&ben, &cursor).await;
}

#[tokio::test]
async fn each_message_names_its_conversation_to_every_member() {
    let tenant = Tenant::new("global-message");
    let users = ["ann", "ben", "cid"].map(|user| tenant.user(user));
    group(&users[0], "room", &["ben", "cid"]).await;
    group(&users[0], "other", &["ben", "cid"]).await;
    let mut cursors = Vec::new();
    for user in &users {
        cursors.push(up_to_date(user).await);
    }
    for n in 1..=5 {
        let receipt = say(&users[n % 3], "room", &n.to_string()).await;
        for (user, cursor) in users.iter().zip(&mut cursors) {
            let (one, next) = only_change(user, cursor).await;
            assert_eq!(one["conversationId"], "room");
            assert_eq!(one["headMsgId"], receipt["msgId"]);
            assert!(has_kind(&one, "messages"), "{one}");
            as_it_stands(user, &one).await;
            *cursor = next;
            quiet(user, cursor).await;
        }
    }
}

#[tokio::test]
async fn several_changes_of_a_conversation_are_one_entry() {
    let tenant = Tenant::new("global-several");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let cursor = up_to_date(&ben).await;
    let receipts = say_many(&ann, "room", 7).await;
    read(&ben, "room", &receipts[3]["msgId"]).await;
    update(&ben, "room", json!({"muted": true})).await;
    let (one, _) = only_change(&ben, &cursor).await;
    for kind in ["messages", "membership", "read"] {
        assert!(has_kind(&one, kind), "{kind}: {one}");
    }
    assert_eq!((&one["headSeq"], &one["unread"]), (&json!(7), &json!(3)));
}

#[tokio::test]
async fn changes_come_in_parts_each_once() {
    let tenant = Tenant::new("global-parts");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    let rooms: Vec<String> = (0..23).map(|n| format!("room-{n}")).collect();
    for room in &rooms {
        group(&ann, room, &["ben"]).await;
    }
    let cursor = up_to_date(&ben).await;
    for room in rooms.iter().step_by(2) {
        say(&ann, room, "up").await;
        // Changes of one millisecond have no order among servers.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    for limit in [1, 5, 12, 100] {
        let (all, _) = global_all(&ben, "", limit).await;
        assert_eq!(each_once(&all).len(), 23, "limit {limit}");
        let (some, end) = global_all(&ben, &cursor, limit).await;
        // The oldest change first: in the order in which it was said.
        let wanted: Vec<&str> = rooms.iter().step_by(2).map(String::as_str).collect();
        assert_eq!(conversation_ids(&some), wanted, "limit {limit}");
        quiet(&ben, &end).await;
    }
}

#[tokio::test]
async fn what_changes_between_two_parts_comes_too() {
    let tenant = Tenant::new("global-between");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    let rooms: Vec<String> = (0..10).map(|n| format!("room-{n}")).collect();
    for room in &rooms {
        group(&ann, room, &["ben"]).await;
    }
    let first = global(&ben, json!({"limit": 4})).await;
    let given = conversation_ids(shape::list(&first, "changed"));
    // One that was given already, and one that was not.
    say(&ann, given[0], "again").await;
    let waiting = rooms.iter().find(|room| !given.contains(&room.as_str())).expect("six wait");
    say(&ann, waiting, "first").await;
    group(&ann, "new", &["ben"]).await;
    let (rest, _) = global_all(&ben, shape::text(&first, "cursor"), 4).await;
    let rest_ids = conversation_ids(&rest);
    for room in rooms.iter().map(String::as_str).filter(|room| !given.contains(room)).chain([given[0], "new"])
    {
        assert!(rest_ids.contains(&room), "{room} was stepped over");
    }
    let last = |id: &str| rest.iter().rev().find(|one| one["conversationId"] == id).expect("it is there");
    for id in [given[0], waiting.as_str()] {
        as_it_stands(&ben, last(id)).await;
    }
}

#[tokio::test]
async fn read_on_one_device_is_told_to_the_other() {
    let tenant = Tenant::new("global-read");
    let ann = tenant.user("ann");
    let (phone, laptop) = (tenant.device("ben", "phone"), tenant.device("ben", "laptop"));
    group(&ann, "room", &["ben"]).await;
    let receipts = say_many(&ann, "room", 5).await;
    let (cursor, of_ann) = (up_to_date(&laptop).await, up_to_date(&ann).await);
    read(&phone, "room", &receipts[2]["msgId"]).await;
    let (one, next) = only_change(&laptop, &cursor).await;
    assert!(has_kind(&one, "read") && !has_kind(&one, "messages"), "{one}");
    assert_eq!((&one["readMsgId"], &one["unread"]), (&receipts[2]["msgId"], &json!(2)));
    quiet(&ann, &of_ann).await;
    // What moves nothing is no change.
    for lower in [&receipts[2]["msgId"], &receipts[0]["msgId"], &json!(0)] {
        read(&phone, "room", lower).await;
    }
    quiet(&laptop, &next).await;
}

#[tokio::test]
async fn leaving_is_told_and_joining_again() {
    let tenant = Tenant::new("global-left");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    group(&ann, "other", &["ben"]).await;
    say(&ann, "room", "1").await;
    let (phone, laptop) = (up_to_date(&ben).await, up_to_date(&ben).await);
    ann.ok(MEMBERS, json!({"conversationId": "room", "remove": ["ben"]})).await;
    let (one, phone) = only_change(&ben, &phone).await;
    assert_eq!(one["left"], true);
    assert_eq!(one["kinds"], json!(["membership"]));
    for (field, nothing) in [("headMsgId", json!("0")), ("headSeq", json!(0)), ("unread", json!(0))] {
        assert_eq!(one[field], nothing, "{field} says nothing");
    }
    quiet(&ben, &phone).await;
    // What is said there now is nothing to him.
    say(&ann, "room", "2").await;
    quiet(&ben, &phone).await;
    assert_eq!(only_change(&ben, &laptop).await.0["left"], true, "every device is told");
    let (all, _) = global_all(&ben, "", 100).await;
    assert_eq!(conversation_ids(&all), ["other"], "who begins from the start has never known it");

    ann.ok(MEMBERS, json!({"conversationId": "room", "add": ["ben"]})).await;
    let (one, phone) = only_change(&ben, &phone).await;
    assert!(has_kind(&one, "membership"), "{one}");
    as_it_stands(&ben, &one).await;
    quiet(&ben, &phone).await;
    // A device that was away all the time needs not know that he had left.
    as_it_stands(&ben, &only_change(&ben, &laptop).await.0).await;
    ben.ok(MEMBERS, json!({"conversationId": "room", "remove": ["ben"]})).await;
    assert_eq!(only_change(&ben, &phone).await.0["left"], true, "who goes by himself is told too");
}

#[tokio::test]
async fn members_roles_and_settings_are_told_to_every_member() {
    let tenant = Tenant::new("global-members");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben", "cid"]).await;
    for change in [json!({"add": ["dan"]}), json!({"remove": ["dan"]}), json!({"roles": {"cid": "admin"}})] {
        let (of_ann, of_ben) = (up_to_date(&ann).await, up_to_date(&ben).await);
        let mut body = change;
        body["conversationId"] = "room".into();
        ann.ok(MEMBERS, body).await;
        for (user, cursor) in [(&ann, of_ann), (&ben, of_ben)] {
            let (one, _) = only_change(user, &cursor).await;
            assert!(has_kind(&one, "membership") && !has_kind(&one, "messages"), "{one}");
        }
    }
    let (of_ann, of_ben) = (up_to_date(&ann).await, up_to_date(&ben).await);
    update(&ann, "room", json!({"history": "from_join"})).await;
    assert!(has_kind(&only_change(&ben, &of_ben).await.0, "membership"));
    let of_ben = up_to_date(&ben).await;
    update(&ben, "room", json!({"muted": true})).await;
    assert!(has_kind(&only_change(&ben, &of_ben).await.0, "membership"));
    let (seen, _) = global_all(&ann, &of_ann, 100).await;
    assert_eq!(conversation_ids(&seen), ["room"]);
    let of_ann = up_to_date(&ann).await;
    update(&ben, "room", json!({"muted": false})).await;
    quiet(&ann, &of_ann).await;
}

#[tokio::test]
async fn a_new_conversation_is_told_to_its_members() {
    let tenant = Tenant::new("global-new");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    let (of_ann, of_ben) = (up_to_date(&ann).await, up_to_date(&ben).await);
    group(&ann, "room", &["ben"]).await;
    let mut next = Vec::new();
    for (user, cursor) in [(&ann, of_ann), (&ben, of_ben)] {
        let (one, cursor) = only_change(user, &cursor).await;
        assert!(has_kind(&one, "membership"), "{one}");
        as_it_stands(user, &one).await;
        next.push(cursor);
    }
    let message = json!({"toUserId": "ben", "clientMsgId": "1", "type": "text", "content": "hi"});
    let receipt = im_tests::talk::send(&ann, message).await;
    for (user, cursor) in [&ann, &ben].into_iter().zip(&next) {
        let (one, _) = only_change(user, cursor).await;
        assert_eq!(one["conversationId"], receipt["conversationId"]);
        as_it_stands(user, &one).await;
    }
}

#[tokio::test]
async fn a_service_asks_for_the_user_it_names_and_no_device_is_needed() {
    let tenant = Tenant::new("global-service");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    let service = tenant.service();
    for request in [json!({"userId": "ben"}), json!({"userId": "ben", "deviceId": "phone"})] {
        let part = global(&service, request).await;
        assert_eq!(conversation_ids(shape::list(&part, "changed")), ["room"]);
    }
    assert_eq!(global(&service, json!({})).await["changed"], json!([]), "its own conversations");
    let claims = token::claims(&tenant.name, "ben", None, "user");
    let part = global(&tenant.claiming(&claims), json!({})).await;
    assert_eq!(conversation_ids(shape::list(&part, "changed")), ["room"]);
}

/// What a cursor holds is the store's business; these are made as those of another time.
#[tokio::test]
async fn a_cursor_that_is_no_good_any_more_begins_from_the_start() {
    let tenant = Tenant::new("global-reset");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    for room in ["one", "two", "three"] {
        group(&ann, room, &["ben"]).await;
        say(&ann, room, "1").await;
    }
    let good = GlobalCursor::parse(&up_to_date(&ben).await).expect("a cursor").expect("not the start");
    let other = good.epoch.chars().map(|c| if c == '1' { '2' } else { '1' }).collect();
    let another_epoch = GlobalCursor { epoch: other, ..good.clone() };
    let known = Known { noted: good.known.noted + (1 << 40), ..good.known };
    let ahead = GlobalCursor { known, ..good };
    for (cursor, reason) in [(another_epoch, "epoch_changed"), (ahead, "position_ahead")] {
        let part = global(&ben, json!({"cursor": cursor.to_string(), "limit": 2})).await;
        assert_eq!(part["reset"]["reason"], reason);
        let mut all = shape::list(&part, "changed").to_vec();
        assert_eq!(part["hasMore"], true);
        let (rest, end) = global_all(&ben, shape::text(&part, "cursor"), 2).await;
        all.extend(rest);
        assert_eq!(each_once(&all).len(), 3, "{reason}");
        quiet(&ben, &end).await;
    }
}
