//! Cases about users with many conversations, large groups, and what is unread.

use im_tests::client::Client;
use im_tests::follow::{
    conversation_ids, digest, digest_all, each_once, global, global_all, offline, read, up_to_date,
};
use im_tests::routes::{CREATE, MEMBERS};
use im_tests::shape;
use im_tests::talk::{contents, conversation, group, say, say_many, send, send_batch, text};
use im_tests::tenant::Tenant;
use im_tests::walk::list_all;
use serde_json::{Value, json};
use tokio::task::JoinSet;

#[tokio::test]
async fn c15_read_all_and_two_more_are_two_unread() {
    let tenant = Tenant::new("c15");
    let ann = tenant.user("ann");
    let (phone, laptop) = (tenant.device("ben", "phone"), tenant.device("ben", "laptop"));
    group(&ann, "room", &["ben"]).await;
    for (round, count) in [4, 1, 120, 7].into_iter().enumerate() {
        let cursor = up_to_date(&laptop).await;
        let batch: Vec<Value> = (0..count).map(|n| text("room", &format!("{round}-{n}"), "more")).collect();
        for part in batch.chunks(100) {
            send_batch(&ann, part).await;
        }
        let head = conversation(&phone, "room").await["lastMsg"]["msgId"].clone();
        assert_eq!(read(&phone, "room", &head).await, json!({"readMsgId": head, "unread": 0}));
        assert_eq!(offline(&laptop).await, (0, 0));
        for n in 1..=2 {
            say(&ann, "room", &format!("{round}: {n} more")).await;
            // One's own in between is no matter.
            say(&phone, "room", &format!("{round}: answer {n}")).await;
        }
        for device in [&phone, &laptop] {
            assert_eq!(conversation(device, "room").await["unread"], 2, "round {round}");
            assert_eq!(list_all(device, 1).await[0]["unread"], 2);
            assert_eq!(digest(device, json!({})).await["conversations"][0]["unread"], 2);
            assert_eq!(offline(device).await, (1, 2));
        }
        let (changed, _) = global_all(&laptop, &cursor, 100).await;
        assert_eq!((&changed[0]["unread"], &changed[0]["readMsgId"]), (&json!(2), &head));
    }
}

/// What it writes per message is counted where the stores can be looked into; here: it works, and its
/// members see it.
#[tokio::test]
async fn c17_ten_thousand_members_see_what_is_sent() {
    let tenant = Tenant::new("c17");
    let ann = tenant.user("ann");
    let members: Vec<String> = (1..10_000).map(|n| format!("user-{n}")).collect();
    let body = json!({"conversationId": "crowd", "type": "group", "members": members});
    assert_eq!(ann.ok(CREATE, body).await["memberCount"], 10_000);
    let [first, last] = ["user-1", "user-9999"].map(|user| tenant.user(user));
    group(&ann, "small", &["user-1", "user-9999"]).await;
    let cursors = [up_to_date(&first).await, up_to_date(&last).await];
    let receipts = say_many(&ann, "crowd", 20).await;
    for (user, cursor) in [&first, &last].into_iter().zip(&cursors) {
        let (changed, next) = global_all(user, cursor, 100).await;
        assert_eq!(conversation_ids(&changed), ["crowd"]);
        assert_eq!(changed[0]["headMsgId"], receipts[19]["msgId"]);
        assert_eq!((&changed[0]["headSeq"], &changed[0]["unread"]), (&json!(20), &json!(20)));
        assert_eq!(global_all(user, &next, 100).await.0, Vec::<Value>::new());
        assert_eq!(contents(user, "crowd").await.len(), 20);
        assert_eq!(list_all(user, 1).await[0]["conversationId"], "crowd", "on top of the list");
    }
    // A member's own doings are the member's.
    let of_last = up_to_date(&last).await;
    assert_eq!(read(&first, "crowd", &receipts[14]["msgId"]).await["unread"], 5);
    assert_eq!(conversation(&last, "crowd").await["unread"], 20);
    assert_eq!(global_all(&last, &of_last, 100).await.0, Vec::<Value>::new());
    assert_eq!(offline(&first).await, (1, 5));
    ann.ok(MEMBERS, json!({"conversationId": "crowd", "remove": ["user-9999"]})).await;
    assert_eq!(global_all(&last, &of_last, 100).await.0[0]["left"], true);
    say(&first, "crowd", "from the crowd").await;
    assert_eq!(contents(&ann, "crowd").await[0], "from the crowd");
}

/// Makes Ben a member of so many groups, each with one message in it.
async fn many_conversations(tenant: &Tenant, count: usize) {
    let (makers, each) = (16, count.div_ceil(16));
    let mut calls = JoinSet::new();
    for maker in 0..makers {
        let ann: Client = tenant.user("ann").fresh();
        calls.spawn(async move {
            let rooms: Vec<String> =
                (maker * each..count.min((maker + 1) * each)).map(|n| format!("room-{n}")).collect();
            for room in &rooms {
                let body = json!({"conversationId": room, "type": "group", "members": ["ben"]});
                ann.patient(CREATE, body).await;
            }
            let messages: Vec<Value> = rooms.iter().map(|room| text(room, "1", "hello")).collect();
            for batch in messages.chunks(100) {
                send_batch(&ann, batch).await;
            }
        });
    }
    calls.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c41_a_first_sync_of_two_thousand_conversations_is_paged() {
    let tenant = Tenant::new("c41");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    many_conversations(&tenant, 2_000).await;
    // The first level: all that a screen shows.
    let first = digest(&ben, json!({"limit": 100})).await;
    assert_eq!((shape::list(&first, "conversations").len(), &first["hasMore"]), (100, &json!(true)));
    for one in shape::list(&first, "conversations") {
        assert_eq!((&one["unread"], &one["latest"][0]["content"]), (&json!(1), &json!("hello")));
    }
    let all = digest_all(&ben, 100).await;
    let named = each_once(&all);
    assert_eq!(named.len(), 2_000);
    assert_eq!(conversation_ids(&list_all(&ben, 100).await), conversation_ids(&all));
    assert_eq!(offline(&ben).await, (2_000, 2_000));
    // And the walk over everything.
    let (changed, cursor) = global_all(&ben, "", 100).await;
    assert_eq!(each_once(&changed), named);
    assert_eq!(global(&ben, json!({"cursor": cursor})).await["changed"], json!([]));
    for room in ["room-7", "room-1999", "room-1000"] {
        send(&ann, text(room, "2", "again")).await;
    }
    let (changed, next) = global_all(&ben, &cursor, 100).await;
    assert_eq!(each_once(&changed).into_iter().collect::<Vec<_>>(), ["room-1000", "room-1999", "room-7"]);
    assert!(changed.iter().all(|one| one["unread"] == 2));
    assert_eq!(global(&ben, json!({"cursor": next})).await["changed"], json!([]));
    let top = digest(&ben, json!({"limit": 3})).await;
    let mut top = conversation_ids(shape::list(&top, "conversations"));
    top.sort_unstable();
    assert_eq!(top, ["room-1000", "room-1999", "room-7"]);
}
