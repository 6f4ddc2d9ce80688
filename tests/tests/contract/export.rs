//! Proves that an administrator takes out everything there is of one user, in parts, and nothing of others; and nothing
//! that was taken back.

use im_tests::client::Client;
use im_tests::recall::{edit, hide_of, recall};
use im_tests::routes::{DELETE, EXPORT, SYNC};
use im_tests::shape;
use im_tests::talk::{group, say, say_many, send, text};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};

/// All parts of `limit`: memberships and messages.
async fn take_out(admin: &Client, user: &str, limit: usize) -> (Vec<Value>, Vec<Value>) {
    let (mut memberships, mut messages, mut cursor) = (Vec::new(), Vec::new(), String::new());
    for n in 0..1_000 {
        let request = json!({"userId": user, "cursor": cursor, "limit": limit});
        let part = admin.patient(EXPORT, request).await;
        assert_eq!((part["userId"].as_str(), part.get("profile").is_some()), (Some(user), n == 0), "{part}");
        memberships.extend(shape::list(&part, "memberships").iter().cloned());
        let found = shape::list(&part, "messages");
        assert!(found.len() <= limit);
        found.iter().for_each(shape::message);
        messages.extend(found.iter().cloned());
        cursor = shape::text(&part, "cursor").to_owned();
        if !shape::flag(&part, "hasMore") {
            messages.sort_by_key(|one| (one["conversationId"].to_string(), shape::id(one, "msgId")));
            return (memberships, messages);
        }
    }
    panic!("an export does not end");
}

#[tokio::test]
async fn everything_of_a_user_and_nothing_of_others() {
    let tenant = Tenant::new("export-all");
    let (ann, ben, admin) = (tenant.user("ann"), tenant.user("ben"), tenant.admin());
    for name in ["hall", "room"] {
        group(&ann, name, &["ben"]).await;
        say_many(&ben, name, 12).await;
        say(&ann, name, "by somebody else").await;
    }
    let slip = send(&ben, text("room", "slip", "a slip")).await;
    let draft = send(&ben, text("room", "draft", "a draft")).await;
    ben.ok(SYNC, json!({"conversationId": "hall", "autoAdvance": true})).await;
    edit(&ben, "room", &draft["msgId"], "a text").await;
    recall(&ben, "room", &slip["msgId"]).await;
    let (memberships, messages) = take_out(&admin, "ben", 100).await;
    let rooms: Vec<&Value> = memberships.iter().map(|one| &one["conversationId"]).collect();
    assert_eq!(rooms, ["hall", "room"]);
    assert_eq!(memberships[0]["positions"][0]["deviceId"], "ben-phone");
    assert_eq!((&memberships[1]["role"], messages.len()), (&json!("member"), 26));
    assert!(messages.iter().all(|one| one["senderId"] == "ben"));
    let shown = format!("{messages:?}");
    assert!(!shown.contains("a slip") && !shown.contains("a draft") && shown.contains("a text"), "{shown}");
    for limit in [1, 7] {
        assert_eq!(take_out(&admin, "ben", limit).await, (memberships.clone(), messages.clone()));
    }
}

#[tokio::test]
async fn what_a_user_has_hidden_is_named() {
    let tenant = Tenant::new("export-hidden");
    let (ann, ben, admin) = (tenant.user("ann"), tenant.user("ben"), tenant.admin());
    group(&ann, "room", &["ben"]).await;
    let [first, second] = [say(&ann, "room", "one").await, say(&ben, "room", "two").await];
    ben.patient(DELETE, hide_of("room", &[&first["msgId"], &second["msgId"]])).await;
    let hidden = |memberships: &[Value]| memberships[0]["hiddenMsgIds"].clone();
    assert_eq!(hidden(&take_out(&admin, "ben", 10).await.0), json!([first["msgId"], second["msgId"]]));
    assert_eq!(hidden(&take_out(&admin, "ann", 10).await.0), json!([]));
}

#[tokio::test]
async fn of_whom_there_is_nothing_an_export_is_empty() {
    let tenant = Tenant::new("export-none");
    group(&tenant.user("ann"), "room", &[]).await;
    say(&tenant.user("ann"), "room", "hello").await;
    assert_eq!(take_out(&tenant.admin(), "ben", 10).await, (vec![], vec![]));
    let other = Tenant::new("export-none-other");
    assert_eq!(take_out(&other.admin(), "ann", 10).await, (vec![], vec![]));
}
