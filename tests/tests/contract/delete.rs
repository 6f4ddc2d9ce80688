//! Proves that messages can be deleted for all: their places stay, each is deleted or refused on its own, and to
//! do so again changes nothing.

use im_tests::recall::{control_of, delete, delete_of, edit, gone, recall};
use im_tests::routes::DELETE;
use im_tests::shape;
use im_tests::talk::{conversation, group, say, say_many};
use im_tests::tenant::Tenant;
use im_tests::walk::{Direction, pull_all};
use serde_json::json;

#[tokio::test]
async fn their_places_stay_and_what_they_said_goes() {
    let tenant = Tenant::new("delete-places");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let sent = say_many(&ben, "room", 4).await;
    edit(&ben, "room", &sent[0]["msgId"], "edited").await;
    let before = pull_all(&ann, "room", Direction::Down, 100).await;
    let wanted = delete_of("room", &[&sent[2]["msgId"], &sent[0]["msgId"]]);
    let answer = ann.patient(DELETE, wanted.clone()).await;
    let results = shape::list(&answer, "results");
    results.iter().for_each(shape::revised);
    let named: Vec<_> = results.iter().map(|result| &result["msgId"]).collect();
    assert_eq!(named, [&sent[2]["msgId"], &sent[0]["msgId"]], "in the order of the call");
    for reader in [&ann, &ben] {
        let now = pull_all(reader, "room", Direction::Down, 100).await;
        assert_eq!(now.len(), 7);
        gone(&now[0], &before[0], "deleted");
        gone(&now[2], &before[2], "deleted");
        assert_eq!((&now[1], &now[3]), (&before[1], &before[3]));
        control_of(&now[5], &results[0], "ann", "delete");
        control_of(&now[6], &results[1], "ann", "delete");
    }
    assert_eq!(ann.patient(DELETE, wanted).await, answer, "once more");
    assert_eq!(conversation(&ann, "room").await["unread"], 2);
    delete(&ann, "room", &sent[3]["msgId"]).await;
    let last = &conversation(&ben, "room").await["lastMsg"];
    assert_eq!((&last["msgId"], &last["status"]), (&sent[3]["msgId"], &json!("deleted")));
    assert_eq!(last["summary"], "");
}

#[tokio::test]
async fn each_is_deleted_or_refused_on_its_own() {
    let tenant = Tenant::new("delete-each");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let of_ann = say(&ann, "room", "of ann").await;
    let of_ben = say(&ben, "room", "of ben").await;
    let taken = say(&ben, "room", "taken back").await;
    let control = recall(&ben, "room", &taken["msgId"]).await["controlMsgId"].clone();
    let ids = [&of_ann["msgId"], &of_ben["msgId"], &taken["msgId"], &control, &json!("7")];
    let answer = ben.patient(DELETE, delete_of("room", &ids)).await;
    let results = shape::list(&answer, "results");
    shape::revised(&results[1]);
    for (at, code) in [(0, "forbidden"), (2, "conflict"), (3, "invalid_request"), (4, "message_not_found")] {
        shape::problem(&results[at]["error"], "result");
        assert_eq!(results[at]["error"]["code"], code, "{answer}");
    }
    let texts: Vec<_> =
        pull_all(&ann, "room", Direction::Down, 100).await.iter().map(|one| one["content"].clone()).collect();
    assert_eq!(texts, ["of ann", "", "", "", ""]);
}

#[tokio::test]
async fn a_reason_is_shown_to_nobody() {
    let tenant = Tenant::new("delete-reason");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    let sent = say(&ann, "room", "a slip").await;
    let mut wanted = delete_of("room", &[&sent["msgId"]]);
    wanted["reason"] = "x".repeat(201).into();
    ann.post(DELETE, wanted.clone()).await.refused("too_large").naming("reason");
    wanted["reason"] = "swordfish".into();
    ann.patient(DELETE, wanted).await;
    let all = pull_all(&tenant.user("ben"), "room", Direction::Down, 100).await;
    assert!(!json!(all).to_string().contains("swordfish"), "{all:?}");
}
