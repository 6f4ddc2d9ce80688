//! What a user allows a push to show, and which conversations wake nobody.

use super::{ENOUGH, away, due_so_far};
use im_tests::follow::update;
use im_tests::push::{confirm, settings, until_due};
use im_tests::routes::{MEMBERS, PUSH_SETTINGS};
use im_tests::talk::{conversation, group, say_many, send_batch, text, texts};
use im_tests::tenant::Tenant;
use im_tests::{shape, token};
use serde_json::{Value, json};

#[tokio::test]
async fn they_are_what_was_set_last() {
    let tenant = Tenant::new("push-settings");
    let (ann, ben) = (tenant.user("ann"), away(&tenant, "ben"));
    for room in ["b", "a", "c"] {
        group(&ann, room, &["ben"]).await;
    }
    let at_first = json!({"showContent": true, "muted": []});
    assert_eq!(settings(&ben, json!({})).await, at_first);
    assert_eq!(settings(&ben, json!({"showContent": false})).await["showContent"], false);
    let both = settings(&ben, json!({"muted": ["c", "a", "c"]})).await;
    assert_eq!(both, json!({"showContent": false, "muted": ["a", "c"]}), "in the order of their ids");
    assert_eq!(settings(&ben, json!({})).await, both);
    assert_eq!(settings(&ann, json!({})).await, at_first, "nobody else's");
    for (room, muted) in [("a", true), ("b", false), ("c", true)] {
        assert_eq!(conversation(&ben, room).await["muted"], muted, "the same as the conversation's own");
    }
    update(&ben, "b", json!({"muted": true})).await;
    update(&ben, "a", json!({"muted": false})).await;
    assert_eq!(settings(&ben, json!({})).await["muted"], json!(["b", "c"]));
    assert_eq!(settings(&ben, json!({"muted": []})).await["muted"], json!([]), "they replace what was");
    assert_eq!(conversation(&ben, "b").await["muted"], false);
    assert_eq!(ben.post_bytes(PUSH_SETTINGS, "").await.ok(), json!({"showContent": false, "muted": []}));
}

#[tokio::test]
async fn only_ones_own_conversations_can_be_muted() {
    let tenant = Tenant::new("push-foreign");
    let (ann, ben) = (tenant.user("ann"), away(&tenant, "ben"));
    group(&ann, "room", &["ben"]).await;
    group(&ann, "foreign", &[]).await;
    for muted in [json!(["room", "foreign"]), json!(["nowhere"]), json!(["room", "nowhere"])] {
        let change = json!({"muted": muted, "showContent": false});
        ben.post(PUSH_SETTINGS, change).await.refused("invalid_request").naming("muted");
    }
    let elsewhere = Tenant::new("push-foreign-other");
    away(&elsewhere, "ben").post(PUSH_SETTINGS, json!({"muted": ["room"]})).await.refused("invalid_request");
    assert_eq!(settings(&ben, json!({})).await, json!({"showContent": true, "muted": []}), "all or nothing");
}

#[tokio::test]
async fn a_conversation_that_was_left_is_muted_no_more() {
    let tenant = Tenant::new("push-mute-left");
    let (ann, ben) = (tenant.user("ann"), away(&tenant, "ben"));
    group(&ann, "room", &["ben"]).await;
    settings(&ben, json!({"muted": ["room"]})).await;
    ann.ok(MEMBERS, json!({"conversationId": "room", "remove": ["ben"]})).await;
    assert_eq!(settings(&ben, json!({})).await["muted"], json!([]), "no conversation of the user's");
}

#[tokio::test]
async fn a_service_sets_them_for_the_user_it_names() {
    let tenant = Tenant::new("push-service");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    let service = tenant.service();
    let set = service.ok(PUSH_SETTINGS, json!({"userId": "ben", "muted": ["room"]})).await;
    assert_eq!(set["muted"], json!(["room"]));
    assert_eq!(settings(&away(&tenant, "ben"), json!({})).await, set);
    let claims = token::claims(&tenant.name, "ann", None, "user");
    let body = json!({"userId": "ben"});
    tenant.claiming(&claims).post(PUSH_SETTINGS, body).await.refused("forbidden").naming("userId");
}

#[tokio::test]
async fn the_preview_is_the_newest_three() {
    let tenant = Tenant::new("push-preview");
    let (ann, service) = (tenant.user("ann"), tenant.service());
    group(&ann, "room", &["ben"]).await;
    say_many(&ann, "room", ENOUGH).await;
    let given = until_due(&service, ["ben"]).await;
    let preview = shape::list(&given["ben"], "preview");
    assert_eq!(texts(preview), ["5", "4", "3"]);
    assert!(preview.iter().all(|message| message["conversationId"] == "room"));
}

/// Users who hide what is said to them see a number on their screens, and no text.
#[tokio::test]
async fn c09_who_hides_content_is_woken_with_a_count_and_no_text() {
    let tenant = Tenant::new("c09");
    let (ann, service) = (tenant.user("ann"), tenant.service());
    let secret = format!("secret-{:016x}", fastrand::u64(..));
    group(&ann, "room", &["ben", "cid"]).await;
    settings(&away(&tenant, "ben"), json!({"showContent": false})).await;
    let say = async |round: usize| {
        let batch: Vec<Value> = (0..ENOUGH).map(|n| text("room", &format!("{round}-{n}"), &secret)).collect();
        send_batch(&ann, &batch).await;
        until_due(&service, ["ben", "cid"]).await
    };
    let given = say(1).await;
    let (ben, cid) = (&given["ben"], &given["cid"]);
    assert_eq!((&ben["messages"], ben.get("preview")), (&json!(5), None));
    assert!(!ben.to_string().contains(&secret), "{ben}");
    assert_eq!(cid["preview"][0]["content"], secret, "another one may be shown it");
    confirm(&service, given.values()).await;
    // What is hidden when it is read counts, not when it was sent.
    settings(&away(&tenant, "ben"), json!({"showContent": true})).await;
    settings(&away(&tenant, "cid"), json!({"showContent": false})).await;
    let given = say(2).await;
    assert_eq!(given["ben"]["preview"][0]["content"], secret);
    assert_eq!(given["cid"].get("preview"), None);
}

#[tokio::test]
async fn what_is_muted_before_the_push_wakes_nobody() {
    let tenant = Tenant::new("push-muted-late");
    let (ann, ben) = (tenant.user("ann"), away(&tenant, "ben"));
    group(&ann, "room", &["ben"]).await;
    say_many(&ann, "room", ENOUGH).await;
    settings(&ben, json!({"muted": ["room"]})).await;
    assert_eq!(due_so_far(&tenant).await.len(), 0);
}
