//! Proves that a message can be edited by who sent it: its content changes and nothing else, devices that have it
//! learn of it, and what cannot be edited is refused.

use im_tests::follow::{global_all, has_kind, up_to_date};
use im_tests::recall::{control_of, edit, edit_of, get_one, recall};
use im_tests::routes::{EDIT, SYNC};
use im_tests::server::{Server, Setup};
use im_tests::shape;
use im_tests::talk::{conversation, group, say, say_many, send, text};
use im_tests::tenant::Tenant;
use im_tests::walk::{Direction, pull_all, sync_all};
use serde_json::{Value, json};

#[tokio::test]
async fn its_content_changes_and_nothing_else() {
    let tenant = Tenant::new("edit-content");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let first = say(&ann, "room", "first").await;
    let mut slip = text("room", "slip", "a slip");
    slip["ext"] = json!({"k": [1, {"of": "the slip"}]});
    slip["replyTo"] = json!({"msgId": first["msgId"]});
    let slip = send(&ben, slip).await;
    let mut wanted = get_one(&ann, "room", &slip["msgId"]).await;
    assert_eq!(wanted.get("editTime"), None);
    for (n, content) in ["👩‍👩‍👧 \0\t\n", "", "another"].into_iter().enumerate() {
        let answer = edit(&ben, "room", &slip["msgId"], content).await;
        assert_eq!(answer["seq"], n + 3);
        let found = get_one(&ann, "room", &slip["msgId"]).await;
        assert!(shape::int(&found, "editTime") >= shape::int(&found, "createTime"));
        wanted["editTime"] = found["editTime"].clone();
        wanted["content"] = content.into();
        for reader in [&ann, &ben] {
            let all = pull_all(reader, "room", Direction::Down, 100).await;
            assert_eq!(all[1], wanted);
            control_of(&all[n + 2], &answer, "ben", "edit");
        }
        assert_eq!(conversation(&ann, "room").await["lastMsg"]["summary"], content);
        assert_eq!(conversation(&ann, "room").await["unread"], 1);
        assert_eq!(edit(&ben, "room", &slip["msgId"], content).await, answer, "once more");
    }
}

#[tokio::test]
async fn to_what_it_says_anyway() {
    let tenant = Tenant::new("edit-same");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    let sent = say(&ann, "room", "as it is").await;
    let before = pull_all(&ann, "room", Direction::Down, 100).await;
    let answer = ann.ok(EDIT, edit_of("room", &sent["msgId"], "as it is")).await;
    assert_eq!(answer, json!({"msgId": sent["msgId"]}));
    assert_eq!(pull_all(&ann, "room", Direction::Down, 100).await, before);
}

#[tokio::test]
async fn devices_that_have_it_learn_of_it() {
    let tenant = Tenant::new("edit-device");
    let (ann, ben) = (tenant.user("ann"), tenant.device("ben", "phone"));
    group(&ann, "room", &["ben"]).await;
    let receipts = say_many(&ann, "room", 3).await;
    assert_eq!(sync_all(&ben, json!({"conversationId": "room"})).await.len(), 3);
    let cursor = up_to_date(&ben).await;
    let answer = edit(&ann, "room", &receipts[1]["msgId"], "another").await;
    let (changed, _) = global_all(&ben, &cursor, 100).await;
    assert_eq!(changed.len(), 1);
    assert!(has_kind(&changed[0], "messages") && has_kind(&changed[0], "revisions"), "{}", changed[0]);
    assert_eq!(changed[0]["unread"], 3, "an edit makes nothing read or unread");
    let page = ben.ok(SYNC, json!({"conversationId": "room"})).await;
    let told: &[Value] = shape::list(&page, "messages");
    assert_eq!(told.len(), 1, "{page}");
    control_of(&told[0], &answer, "ann", "edit");
}

#[tokio::test]
async fn by_its_sender_alone_and_whoever_acts_for_the_sender() {
    let tenant = Tenant::new("edit-who");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let sent = say(&ben, "room", "of ben").await;
    let wanted = edit_of("room", &sent["msgId"], "of another");
    for by in [&ann, &tenant.admin(), &tenant.service()] {
        by.post(EDIT, wanted.clone()).await.refused("forbidden");
    }
    tenant.user("eve").post(EDIT, wanted.clone()).await.refused("not_member");
    let mut named = wanted;
    named["userId"] = "ben".into();
    shape::revised(&tenant.service().ok(EDIT, named).await);
    assert_eq!(get_one(&ann, "room", &sent["msgId"]).await["content"], "of another");
}

#[tokio::test]
async fn not_what_is_gone_nor_what_the_store_says() {
    let tenant = Tenant::new("edit-gone");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    let sent = say(&ann, "room", "a slip").await;
    let control = recall(&ann, "room", &sent["msgId"]).await["controlMsgId"].clone();
    let gone = ann.post(EDIT, edit_of("room", &sent["msgId"], "again")).await;
    gone.refused("conflict").naming("msgId");
    let of_the_store = ann.post(EDIT, edit_of("room", &control, "mine")).await;
    of_the_store.refused("invalid_request").naming("msgId");
    let none = ann.post(EDIT, edit_of("room", &json!("7"), "mine")).await;
    none.refused("message_not_found").naming("msgId");
}

#[tokio::test]
async fn within_the_limits_of_what_is_sent() {
    let tenant = Tenant::new("edit-large");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    let sent = say(&ann, "room", "small").await;
    let large = "あ".repeat(21_845) + "x";
    let beyond = ann.post(EDIT, edit_of("room", &sent["msgId"], &format!("{large}x"))).await;
    beyond.refused("too_large").naming("content");
    edit(&ann, "room", &sent["msgId"], &large).await;
    assert_eq!(get_one(&ann, "room", &sent["msgId"]).await["content"], large);
}

#[tokio::test]
async fn where_the_operator_lets_nobody() {
    let label = "edit-never";
    let rule = format!("edit_ms=86400000,{}=0", Tenant::new(label).name);
    let setup = Setup { args: vec!["--var".to_owned(), rule], ..Setup::default() };
    let Some(server) = Server::own(setup) else { return };
    for (tenant, is_allowed) in
        [(Tenant::on(&server, label), false), (Tenant::on(&server, "edit-ever"), true)]
    {
        let ann = tenant.user("ann");
        group(&ann, "room", &["ben"]).await;
        let sent = say(&ann, "room", "as it stays").await;
        let answer = ann.patient_post(EDIT, edit_of("room", &sent["msgId"], "another")).await;
        match is_allowed {
            true => shape::revised(&answer.ok()),
            false => drop(answer.refused("forbidden")),
        }
    }
}
