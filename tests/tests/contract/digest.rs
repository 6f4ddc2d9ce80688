//! Proves that `sync/digest` gives a user's conversations, newest first, each with its newest messages:
//! what `conversation/list` and `msg/pull` give, in one call.

use im_tests::follow::{conversation_ids, digest, digest_all, read};
use im_tests::routes::{CREATE, DIGEST, MEMBERS};
use im_tests::shape;
use im_tests::talk::{group, pull, say, say_many, texts};
use im_tests::tenant::Tenant;
use im_tests::token;
use im_tests::walk::list_all;
use serde_json::{Value, json};

/// The same without what only a digest has.
fn without_latest(one: &Value) -> Value {
    let mut one = one.clone();
    one.as_object_mut().expect("an object").remove("latest");
    one
}

#[tokio::test]
async fn it_is_the_list_with_the_newest_messages_of_each() {
    let tenant = Tenant::new("digest-list");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    for (room, count) in [("silent", 0), ("one", 1), ("three", 3), ("many", 8)] {
        group(&ann, room, &["ben"]).await;
        let receipts = say_many(&ann, room, count).await;
        if room == "many" {
            read(&ben, room, &receipts[4]["msgId"]).await;
        }
    }
    let listed = list_all(&ben, 100).await;
    for latest in [1, 2, 5] {
        let part = digest(&ben, json!({"latest": latest})).await;
        let found = shape::list(&part, "conversations");
        assert_eq!(found.iter().map(without_latest).collect::<Vec<_>>(), listed);
        for one in found {
            let request = json!({"conversationId": one["conversationId"], "limit": latest});
            assert_eq!(one["latest"], pull(&ben, request).await["messages"], "{latest}: {one}");
        }
    }
    let part = digest(&ben, json!({})).await;
    let one = |id: &str| {
        let found = shape::list(&part, "conversations").iter().find(|one| one["conversationId"] == id);
        found.unwrap_or_else(|| panic!("{id} is not there")).clone()
    };
    assert_eq!(texts(shape::list(&one("many"), "latest")), ["8"], "1 is the default");
    assert_eq!((&one("many")["unread"], &one("many")["headSeq"]), (&json!(3), &json!(8)));
    assert_eq!(one("silent")["latest"], json!([]));
}

#[tokio::test]
async fn it_comes_in_parts() {
    let tenant = Tenant::new("digest-parts");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    for n in 0..60 {
        group(&ann, &format!("room-{n}"), &["ben"]).await;
    }
    for n in (0..60).step_by(7) {
        say(&ann, &format!("room-{n}"), "up").await;
    }
    let listed = list_all(&ben, 100).await;
    let wanted = conversation_ids(&listed);
    for limit in [1, 7, 50, 100] {
        assert_eq!(conversation_ids(&digest_all(&ben, limit).await), wanted, "limit {limit}");
    }
    let first = digest(&ben, json!({})).await;
    assert_eq!(shape::list(&first, "conversations").len(), 50, "50 is the default");
    assert_eq!(first["hasMore"], true);
}

#[tokio::test]
async fn who_moves_to_the_top_meanwhile_pushes_nobody_out() {
    let tenant = Tenant::new("digest-moving");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    let rooms: Vec<String> = (0..12).map(|n| format!("room-{n}")).collect();
    for room in &rooms {
        group(&ann, room, &["ben"]).await;
    }
    let first = digest(&ben, json!({"limit": 5})).await;
    let mut found: Vec<String> =
        conversation_ids(shape::list(&first, "conversations")).iter().map(|id| (*id).to_owned()).collect();
    // One that was given, and one that is yet to be.
    for room in [&rooms[11], &rooms[0]] {
        say(&ann, room, "up").await;
    }
    let mut cursor = first["cursor"].clone();
    loop {
        let part = digest(&ben, json!({"limit": 5, "cursor": cursor})).await;
        let ids = conversation_ids(shape::list(&part, "conversations"));
        found.extend(ids.iter().map(|id| (*id).to_owned()));
        if part["hasMore"] == false {
            break;
        }
        cursor = part["cursor"].clone();
    }
    // The one that has moved is above the cursor now; all others are there, each once.
    let mut wanted = rooms.clone();
    wanted.retain(|room| *room != rooms[0]);
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    assert_eq!(digest(&ben, json!({"limit": 1})).await["conversations"][0]["conversationId"], *rooms[0]);
}

#[tokio::test]
async fn it_shows_a_newcomer_only_what_he_may_read() {
    let tenant = Tenant::new("digest-newcomer");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    let body = json!({"conversationId": "room", "type": "group", "members": [], "history": "from_join"});
    ann.ok(CREATE, body).await;
    say(&ann, "room", "before").await;
    ann.ok(MEMBERS, json!({"conversationId": "room", "add": ["ben"]})).await;
    let latest = |part: &Value| texts(shape::list(&part["conversations"][0], "latest"));
    let nothing: [&str; 0] = [];
    assert_eq!(latest(&digest(&ben, json!({"latest": 5})).await), nothing);
    say(&ann, "room", "after").await;
    assert_eq!(latest(&digest(&ben, json!({"latest": 5})).await), ["after"]);
    assert_eq!(latest(&digest(&ann, json!({"latest": 5})).await), ["after", "before"]);
    ann.ok(MEMBERS, json!({"conversationId": "room", "remove": ["ben"]})).await;
    assert_eq!(digest(&ben, json!({})).await["conversations"], json!([]));
}

#[tokio::test]
async fn a_service_asks_for_the_user_it_names_and_no_device_is_needed() {
    let tenant = Tenant::new("digest-service");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    say(&tenant.user("ann"), "room", "hello").await;
    let claims = token::claims(&tenant.name, "ben", None, "user");
    let none = tenant.claiming(&claims);
    for (client, request) in [
        (tenant.service(), json!({"userId": "ben"})),
        (tenant.service(), json!({"userId": "ben", "deviceId": "phone"})),
        (none.clone(), json!({})),
    ] {
        let part = digest(&client, request).await;
        assert_eq!(texts(shape::list(&part["conversations"][0], "latest")), ["hello"]);
    }
    assert_eq!(none.post_bytes(DIGEST, "").await.ok()["hasMore"], false, "no body is an empty one");
    assert_eq!(digest(&tenant.user("eve"), json!({})).await["conversations"], json!([]));
}
