//! Who is due, and with what.

use super::{ENOUGH, away, due_so_far};
use im_tests::follow::{digest, global, read, update};
use im_tests::push::{confirm, due, until_due, until_woken};
use im_tests::recall::recall;
use im_tests::routes::{MEMBERS, PUSH_DUE, SYNC};
use im_tests::shape;
use im_tests::talk::{conversation, group, ids, say, say_many, send, send_batch, text, texts};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn five_messages_make_a_user_due_once() {
    let tenant = Tenant::new("push-five");
    let (ann, service) = (tenant.user("ann"), tenant.service());
    group(&ann, "room", &["ben"]).await;
    let receipts = say_many(&ann, "room", ENOUGH).await;
    let given = until_due(&service, ["ben"]).await;
    assert_eq!(given.len(), 1, "the sender is not woken: {given:?}");
    let ben = &given["ben"];
    assert_eq!((&ben["messages"], &ben["conversations"]), (&json!(5), &json!(1)));
    assert_eq!(ben["oldestTime"], receipts[0]["createTime"]);
    // Leased: nobody else is given the same, and neither is the one who has it.
    for worker in [&service, &tenant.admin()] {
        assert_eq!(due(worker, json!({})).await, Vec::<Value>::new());
    }
    confirm(&service, [ben]).await;
    assert_eq!(due_so_far(&tenant).await.len(), 0, "once");
}

#[tokio::test]
async fn what_comes_after_the_push_begins_a_new_batch() {
    let tenant = Tenant::new("push-again");
    let (ann, service) = (tenant.user("ann"), tenant.service());
    group(&ann, "room", &["ben"]).await;
    for round in 1..=3_usize {
        let batch: Vec<Value> =
            (0..ENOUGH).map(|n| text("room", &format!("{round}-{n}"), &format!("{round}-{n}"))).collect();
        let receipts = send_batch(&ann, &batch).await;
        let given = until_due(&service, ["ben"]).await;
        assert_eq!(given["ben"]["messages"], 5, "since the last push: round {round}");
        assert_eq!(given["ben"]["oldestTime"], receipts[0]["createTime"]);
        confirm(&service, [&given["ben"]]).await;
    }
    assert_eq!(conversation(&away(&tenant, "ben"), "room").await["unread"], 15);
}

#[tokio::test]
async fn what_comes_while_it_is_leased_is_of_the_next_batch() {
    let tenant = Tenant::new("push-meanwhile");
    let (ann, service) = (tenant.user("ann"), tenant.service());
    group(&ann, "room", &["ben"]).await;
    say_many(&ann, "room", ENOUGH).await;
    let first = until_due(&service, ["ben"]).await;
    let later: Vec<Value> = (0..7).map(|n| text("room", &format!("later-{n}"), "later")).collect();
    send_batch(&ann, &later).await;
    assert_eq!(due_so_far(&tenant).await.len(), 0, "leased, whatever comes");
    // The confirmation may itself give the user again.
    let leases = json!({"confirm": [first["ben"]["leaseId"]]});
    let mut given = due(&service, leases).await;
    if given.is_empty() {
        given.extend(until_due(&service, ["ben"]).await.into_values());
    }
    assert_eq!((&given[0]["userId"], &given[0]["messages"]), (&json!("ben"), &json!(7)));
    assert_ne!(given[0]["leaseId"], first["ben"]["leaseId"]);
}

#[tokio::test]
async fn fewer_do_not_wake() {
    let tenant = Tenant::new("push-fewer");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    say_many(&ann, "room", ENOUGH - 1).await;
    assert_eq!(due_so_far(&tenant).await.len(), 0);
    say(&ann, "room", "the fifth").await;
    assert_eq!(until_due(&tenant.service(), ["ben"]).await["ben"]["messages"], 5);
}

#[tokio::test]
async fn messages_of_several_conversations_add_up() {
    let tenant = Tenant::new("push-several");
    let ann = tenant.user("ann");
    for room in ["one", "two", "three"] {
        group(&ann, room, &["ben"]).await;
    }
    let first = say(&ann, "one", "first").await;
    say_many(&ann, "two", 3).await;
    // Ids of one millisecond have no order among conversations.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let last = say(&ann, "three", "last").await;
    let given = until_due(&tenant.service(), ["ben"]).await;
    let ben = &given["ben"];
    assert_eq!((&ben["messages"], &ben["conversations"]), (&json!(5), &json!(3)));
    assert_eq!(ben["oldestTime"], first["createTime"]);
    let preview = shape::list(ben, "preview");
    assert_eq!(preview.len(), 3);
    assert_eq!(preview[0]["msgId"], last["msgId"]);
    let times: Vec<u64> = preview.iter().map(|message| shape::int(message, "createTime")).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "newest first: {times:?}");
    assert_eq!(preview[0]["conversationId"], "three");
}

#[tokio::test]
async fn own_silent_and_muted_messages_do_not_count() {
    let tenant = Tenant::new("push-uncounted");
    let (ann, ben) = (tenant.user("ann"), away(&tenant, "ben"));
    for room in ["room", "muted"] {
        group(&ann, room, &["ben"]).await;
    }
    update(&ben, "muted", json!({"muted": true})).await;
    let of = |sender: &'static str, room: &'static str, count: usize, silent: bool| {
        let message = move |n: usize| {
            let content = if silent { "silent" } else { sender };
            let mut message = text(room, &format!("{sender}-{silent}-{n}"), content);
            message["silent"] = silent.into();
            message
        };
        (0..count).map(message).collect::<Vec<_>>()
    };
    send_batch(&ann, &of("ann", "room", ENOUGH - 1, false)).await;
    send_batch(&ann, &of("ann", "room", 20, true)).await;
    send_batch(&ann, &of("ann", "muted", 20, false)).await;
    send_batch(&ben, &of("ben", "room", 3, false)).await;
    // Ann has three of Ben's.
    assert_eq!(due_so_far(&tenant).await.len(), 0);
    let last = say(&ann, "room", "the fifth").await;
    let given = until_due(&tenant.service(), ["ben"]).await;
    assert_eq!((&given["ben"]["messages"], &given["ben"]["conversations"]), (&json!(5), &json!(1)));
    assert_eq!(given["ben"]["preview"][0]["msgId"], last["msgId"]);
    let shown = texts(shape::list(&given["ben"], "preview"));
    assert_eq!(shown, ["the fifth", "ann", "ann"]);
    assert!(given["ben"]["preview"].as_array().is_some_and(|all| all.iter().all(|m| m["senderId"] == "ann")));
}

#[tokio::test]
async fn a_sync_of_any_device_ends_what_waits() {
    let tenant = Tenant::new("push-sync");
    let (ann, service) = (tenant.user("ann"), tenant.service());
    let users = ["by-sync", "by-global", "by-digest", "by-service", "by-nothing", "by-no-device"];
    group(&ann, "room", &users).await;
    say_many(&ann, "room", ENOUGH).await;
    tenant.user("by-sync").ok(SYNC, json!({"conversationId": "room", "limit": 1})).await;
    global(&tenant.user("by-global"), json!({"limit": 1})).await;
    digest(&tenant.user("by-digest"), json!({"limit": 1})).await;
    global(&service, json!({"userId": "by-service", "deviceId": "phone"})).await;
    global(&away(&tenant, "by-no-device"), json!({})).await;
    let given = until_due(&service, ["by-nothing", "by-no-device"]).await;
    let found: Vec<&str> = given.keys().map(String::as_str).collect();
    assert_eq!(found, ["by-no-device", "by-nothing"]);
}

#[tokio::test]
async fn who_has_read_everything_is_not_woken() {
    let tenant = Tenant::new("push-read");
    let (ann, ben) = (tenant.user("ann"), away(&tenant, "ben"));
    group(&ann, "room", &["ben", "cid"]).await;
    let receipts = say_many(&ann, "room", ENOUGH + 2).await;
    read(&ben, "room", &receipts[6]["msgId"]).await;
    read(&away(&tenant, "cid"), "room", &receipts[1]["msgId"]).await;
    let given = until_due(&tenant.service(), ["cid"]).await;
    assert_eq!(given.keys().collect::<Vec<_>>(), ["cid"]);
    assert_eq!(given["cid"]["messages"], 5, "what is unread");
}

#[tokio::test]
async fn what_was_taken_back_wakes_nobody_and_is_not_shown() {
    let tenant = Tenant::new("push-recall");
    let ann = tenant.user("ann");
    for room in ["all", "some"] {
        group(&ann, room, &[if room == "all" { "ben" } else { "cid" }]).await;
    }
    for receipt in say_many(&ann, "all", ENOUGH).await {
        recall(&ann, "all", &receipt["msgId"]).await;
    }
    let receipts = say_many(&ann, "some", ENOUGH + 2).await;
    for receipt in [&receipts[0], &receipts[ENOUGH + 1]] {
        recall(&ann, "some", &receipt["msgId"]).await;
    }
    let given = until_due(&tenant.service(), ["cid"]).await;
    assert_eq!(given.keys().collect::<Vec<_>>(), ["cid"]);
    assert_eq!(given["cid"]["messages"], 5, "what tells of it does not count either");
    let wanted: Vec<u64> = ids(&receipts[3..6]).into_iter().rev().collect();
    assert_eq!(ids(shape::list(&given["cid"], "preview")), wanted);
    assert_eq!(due_so_far(&tenant).await.len(), 0, "nothing is left for Ben");
}

#[tokio::test]
async fn who_has_left_is_not_woken() {
    let tenant = Tenant::new("push-left");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben", "cid"]).await;
    say_many(&ann, "room", ENOUGH).await;
    ann.ok(MEMBERS, json!({"conversationId": "room", "remove": ["ben"]})).await;
    let given = until_due(&tenant.service(), ["cid"]).await;
    assert_eq!(given.keys().collect::<Vec<_>>(), ["cid"]);
    assert_eq!(due_so_far(&tenant).await.len(), 0);
}

#[tokio::test]
async fn single_chats_wake_the_other() {
    let tenant = Tenant::new("push-single");
    let ann = tenant.user("ann");
    for n in 0..ENOUGH {
        let message = json!({
            "toUserId": "ben", "clientMsgId": n.to_string(), "type": "text", "content": n.to_string(),
        });
        send(&ann, message).await;
    }
    let given = until_due(&tenant.service(), ["ben"]).await;
    assert_eq!(given.keys().collect::<Vec<_>>(), ["ben"]);
}

#[tokio::test]
async fn retries_are_counted_once() {
    let tenant = Tenant::new("push-retry");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    for _ in 0..3 {
        say_many(&ann, "room", ENOUGH - 1).await;
    }
    assert_eq!(due_so_far(&tenant).await.len(), 0);
}

#[tokio::test]
async fn a_large_group_wakes_its_members_too() {
    let tenant = Tenant::new("push-large");
    let ann = tenant.user("ann");
    let names: Vec<String> = (0..600).map(|n| format!("user-{n}")).collect();
    let members: Vec<&str> = names.iter().map(String::as_str).collect();
    group(&ann, "room", &members).await;
    let receipts = say_many(&ann, "room", ENOUGH).await;
    let given = until_woken(&tenant.service(), members.iter().copied()).await;
    assert_eq!(given.len(), 600, "and nobody else");
    assert!(given.values().all(|one| one["messages"] == 5));
    let newest: Vec<u64> = ids(&receipts).into_iter().rev().take(3).collect();
    assert_eq!(ids(shape::list(&given["user-599"], "preview")), newest);
}

#[tokio::test]
async fn a_service_wakes_its_own_tenant_alone() {
    let (tenant, other) = (Tenant::new("push-tenant"), Tenant::new("push-tenant-other"));
    for one in [&tenant, &other] {
        group(&one.user("ann"), "room", &["ben"]).await;
        say_many(&one.user("ann"), "room", ENOUGH).await;
    }
    let given = until_due(&tenant.service(), ["ben"]).await;
    let of_other = until_due(&other.service(), ["ben"]).await;
    assert_ne!(given["ben"]["leaseId"], of_other["ben"]["leaseId"]);
    assert_eq!((given.len(), of_other.len()), (1, 1));
}

#[tokio::test]
async fn it_is_for_services_and_administrators() {
    let tenant = Tenant::new("push-access");
    tenant.user("ann").post(PUSH_DUE, json!({})).await.refused("forbidden");
    tenant.nobody().post(PUSH_DUE, json!({})).await.refused("unauthenticated");
    for client in [tenant.service(), tenant.admin()] {
        assert_eq!(client.post_bytes(PUSH_DUE, "").await.ok(), json!({"due": []}), "no body is an empty one");
    }
}
