//! Proves that an index can be built from the feed of changes: it has what readers pull, from the start and as it
//! follows, and nothing that was taken back or is another tenant's.

use im_tests::feed::Index;
use im_tests::recall::{delete, edit, recall};
use im_tests::routes::CHANGES;
use im_tests::talk::{group, say, say_many, send, text};
use im_tests::tenant::Tenant;
use im_tests::walk::{Direction, pull_all};
use serde_json::{Value, json};

/// What ann pulls, in the order in which an index keeps it.
async fn pulled(tenant: &Tenant, conversations: &[&str]) -> Vec<Value> {
    let mut all = Vec::new();
    for name in conversations {
        all.extend(pull_all(&tenant.user("ann"), name, Direction::Down, 100).await);
    }
    all
}

#[tokio::test]
async fn an_index_that_follows_has_what_readers_pull() {
    let tenant = Tenant::new("changes-follow");
    let (ann, service) = (tenant.user("ann"), tenant.service());
    let mut index = Index::default();
    index.catch_up(&service, 10).await;
    assert!(index.messages.is_empty());
    for name in ["hall", "room"] {
        group(&ann, name, &["ben"]).await;
        say_many(&ann, name, 25).await;
    }
    index.until(&service, 7, 50).await;
    let slip = say(&ann, "room", "a slip").await;
    let draft = say(&ann, "hall", "a draft").await;
    let waste = say(&ann, "hall", "a waste").await;
    edit(&ann, "hall", &draft["msgId"], "a text").await;
    recall(&ann, "room", &slip["msgId"]).await;
    delete(&ann, "hall", &waste["msgId"]).await;
    index.until(&service, 3, 56).await;
    let wanted = pulled(&tenant, &["hall", "room"]).await;
    assert_eq!(index.messages.values().cloned().collect::<Vec<_>>(), wanted);
    let kinds = |kind: &str| index.events.iter().filter(|(found, _)| found == kind).count();
    assert_eq!(["append", "edit", "recall", "delete"].map(kinds), [53, 1, 1, 1], "each once");
    for limit in [1, 20, 100] {
        let mut anew = Index::default();
        anew.catch_up(&service, limit).await;
        assert_eq!(anew.messages, index.messages);
    }
}

#[tokio::test]
async fn what_was_taken_back_is_gone_from_it_at_once() {
    let tenant = Tenant::new("changes-recalled");
    let (ann, service) = (tenant.user("ann"), tenant.service());
    group(&ann, "room", &["ben"]).await;
    let mut index = Index::default();
    index.catch_up(&service, 10).await;
    let slip = send(&ann, text("room", "1", "a secret")).await;
    let before = index.cursor.clone();
    index.until(&service, 10, 1).await;
    recall(&ann, "room", &slip["msgId"]).await;
    for cursor in ["", &before] {
        let part = service.patient(CHANGES, json!({"cursor": cursor})).await;
        assert!(!part.to_string().contains("a secret"), "{part}");
    }
}

#[tokio::test]
async fn nothing_of_another_tenant_is_in_it() {
    let (one, other) = (Tenant::new("changes-one"), Tenant::new("changes-other"));
    for tenant in [&one, &other] {
        group(&tenant.user("ann"), "room", &["ben"]).await;
        say(&tenant.user("ann"), "room", &format!("said in {}", tenant.name)).await;
    }
    for tenant in [&one, &other] {
        let mut index = Index::default();
        index.until(&tenant.service(), 10, 1).await;
        let said: Vec<&Value> = index.messages.values().map(|message| &message["content"]).collect();
        assert_eq!(said, [&json!(format!("said in {}", tenant.name))]);
    }
}
