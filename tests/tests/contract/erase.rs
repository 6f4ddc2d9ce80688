//! Proves that nothing of what an erased user has said is in any answer, that what others said stays, and that whoever
//! comes under the name is somebody new.

use im_tests::client::Client;
use im_tests::feed::Index;
use im_tests::recall::{edit, every_way, shown_nowhere};
use im_tests::routes::{CHANGES, ERASE, EXPORT, MEMBERS, PULL, UPDATE, VERSIONS};
use im_tests::shape;
use im_tests::talk::{contents, group, say, say_many, send, text};
use im_tests::tenant::Tenant;
use serde_json::json;

/// Erases a user, part by part; gives how many messages there were.
async fn erase(admin: &Client, user: &str) -> u64 {
    let (mut cursor, mut messages) = (String::new(), 0);
    for _ in 0..1_000 {
        let part = admin.patient(ERASE, json!({"userId": user, "cursor": cursor})).await;
        messages += shape::int(&part, "messages");
        cursor = shape::text(&part, "cursor").to_owned();
        if !shape::flag(&part, "hasMore") {
            return messages;
        }
    }
    panic!("an erasure does not end");
}

#[tokio::test]
async fn nothing_that_was_said_is_in_any_answer() {
    let tenant = Tenant::new("erase-all");
    let (ann, ben, admin) = (tenant.user("ann"), tenant.user("ben"), tenant.admin());
    group(&ann, "room", &["ben"]).await;
    let sent = say(&ben, "room", "first secret").await;
    edit(&ben, "room", &sent["msgId"], "second secret").await;
    let mut answer = text("room", "answer", "and what do you say?");
    answer["replyTo"] = json!({"msgId": sent["msgId"]});
    send(&ann, answer).await;
    say(&ben, "room", "third secret").await;
    assert_eq!(erase(&admin, "ben").await, 2);
    let mut answers = every_way(&ann, "room").await;
    let of_the_message = json!({"conversationId": "room", "msgId": sent["msgId"]});
    answers.push(("versions", admin.ok(VERSIONS, of_the_message).await));
    answers.push(("export", admin.ok(EXPORT, json!({"userId": "ben"})).await));
    answers.push(("changes", tenant.service().patient(CHANGES, json!({})).await));
    shown_nowhere(&answers, "secret");
    assert_eq!(contents(&ann, "room").await.iter().filter(|said| !said.is_empty()).count(), 1);
    assert_eq!(erase(&admin, "ben").await, 2, "once more it changes nothing");
    ben.post(PULL, json!({"conversationId": "room"})).await.refused("not_member");
    ann.ok(MEMBERS, json!({"conversationId": "room", "add": ["ben"]})).await;
    let again = say(&ben, "room", "first secret").await;
    assert_eq!(again["duplicate"], false, "the clientMsgId is a new one: {again}");
}

#[tokio::test]
async fn what_is_held_stays_until_it_is_held_no_more() {
    let tenant = Tenant::new("erase-held");
    let (ann, ben, admin) = (tenant.user("ann"), tenant.user("ben"), tenant.admin());
    for name in ["free", "held"] {
        group(&ann, name, &["ben"]).await;
        say(&ben, name, "a secret").await;
    }
    let hold = async |held: bool| {
        admin.patient(UPDATE, json!({"conversationId": "held", "legalHold": held})).await;
    };
    hold(true).await;
    for _ in 0..2 {
        let part = admin.patient(ERASE, json!({"userId": "ben"})).await;
        assert_eq!((&part["held"], shape::int(&part, "messages")), (&json!(["held"]), 1), "{part}");
        assert_eq!(contents(&ben, "held").await, ["a secret"]);
        assert_eq!(contents(&ann, "free").await, [""]);
    }
    hold(false).await;
    let part = admin.patient(ERASE, json!({"userId": "ben"})).await;
    assert_eq!((&part["held"], shape::int(&part, "messages")), (&json!([]), 2), "{part}");
    assert_eq!(contents(&ann, "held").await, [""]);
}

#[tokio::test]
async fn an_index_learns_of_it() {
    let tenant = Tenant::new("erase-index");
    let (ann, ben, service) = (tenant.user("ann"), tenant.user("ben"), tenant.service());
    group(&ann, "room", &["ben"]).await;
    say_many(&ben, "room", 12).await;
    say(&ann, "room", "stays").await;
    let mut index = Index::default();
    index.until(&service, 5, 13).await;
    assert_eq!(erase(&tenant.admin(), "ben").await, 12);
    index.catch_up(&service, 5).await;
    let left: Vec<&str> = index.messages.values().map(|one| shape::text(one, "content")).collect();
    assert_eq!(left.iter().filter(|said| !said.is_empty()).collect::<Vec<_>>(), [&"stays"]);
    assert_eq!(index.events.iter().filter(|(kind, _)| kind == "erase").count(), 12);
}
