//! Proves that members come, go and change roles, and that access follows at once.

use im_tests::client::Client;
use im_tests::routes::{CREATE, MEMBERS, PULL, SEND};
use im_tests::shape;
use im_tests::talk::{contents, conversation, group, say, text};
use im_tests::tenant::Tenant;
use im_tests::walk::list_all;
use serde_json::{Value, json};

async fn change(by: &Client, what: Value) -> Value {
    let mut body = what;
    body["conversationId"] = "room".into();
    let conversation = by.ok(MEMBERS, body).await;
    shape::conversation(&conversation);
    conversation
}

#[tokio::test]
async fn who_is_added_reads_and_writes_at_once() {
    let tenant = Tenant::new("members-add");
    let (ann, cid) = (tenant.user("ann"), tenant.user("cid"));
    group(&ann, "room", &["ben"]).await;
    cid.post(PULL, json!({"conversationId": "room"})).await.refused("not_member");
    let after = change(&ann, json!({"add": ["cid", "dan"]})).await;
    assert_eq!(after["memberCount"], 4);
    say(&cid, "room", "here I am").await;
    assert_eq!(contents(&cid, "room").await, ["here I am"]);
    assert_eq!(list_all(&cid, 20).await.len(), 1);
}

#[tokio::test]
async fn who_is_removed_has_no_access_at_once() {
    let tenant = Tenant::new("members-remove");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    say(&ben, "room", "still here").await;
    assert_eq!(change(&ann, json!({"remove": ["ben"]})).await["memberCount"], 1);
    ben.post(PULL, json!({"conversationId": "room"})).await.refused("not_member");
    ben.post(SEND, text("room", "1", "me too")).await.refused("not_member");
    assert_eq!(list_all(&ben, 20).await.len(), 0);
    assert_eq!(contents(&ann, "room").await, ["still here"]);
}

#[tokio::test]
async fn a_member_may_leave() {
    let tenant = Tenant::new("members-leave");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    change(&ben, json!({"remove": ["ben"]})).await;
    ben.post(PULL, json!({"conversationId": "room"})).await.refused("not_member");
    assert_eq!(conversation(&ann, "room").await["memberCount"], 1);
}

#[tokio::test]
async fn an_admin_adds_and_removes() {
    let tenant = Tenant::new("members-admin");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    change(&ann, json!({"roles": {"ben": "admin"}})).await;
    assert_eq!(change(&ben, json!({"add": ["cid"]})).await["memberCount"], 3);
    assert_eq!(change(&ben, json!({"remove": ["cid"]})).await["memberCount"], 2);
}

#[tokio::test]
async fn an_owner_hands_over() {
    let tenant = Tenant::new("members-owner");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    change(&ann, json!({"roles": {"ben": "owner"}})).await;
    change(&ben, json!({"roles": {"ann": "member"}})).await;
    let body = json!({"conversationId": "room", "add": ["cid"]});
    ann.post(MEMBERS, body).await.refused("forbidden");
}

#[tokio::test]
async fn changes_of_all_kinds_go_in_one_call() {
    let tenant = Tenant::new("members-all");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben", "cid"]).await;
    let what = json!({"add": ["dan", "eve"], "remove": ["cid"], "roles": {"ben": "admin"}});
    assert_eq!(change(&ann, what).await["memberCount"], 4);
    assert_eq!(change(&tenant.user("ben"), json!({"remove": ["dan"]})).await["memberCount"], 3);
}

#[tokio::test]
async fn a_service_changes_members_for_an_owner() {
    let tenant = Tenant::new("members-service");
    group(&tenant.user("ann"), "room", &[]).await;
    let what = json!({"userId": "ann", "add": ["ben"]});
    assert_eq!(change(&tenant.service(), what).await["memberCount"], 2);
}

#[tokio::test]
async fn history_says_what_a_newcomer_sees() {
    let tenant = Tenant::new("members-history");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    for (history, wanted) in [("all", vec!["after", "before"]), ("from_join", vec!["after"])] {
        let id = format!("room-{history}");
        let body = json!({"conversationId": id, "type": "group", "members": [], "history": history});
        ann.ok(CREATE, body).await;
        say(&ann, &id, "before").await;
        ann.ok(MEMBERS, json!({"conversationId": id, "add": ["ben"]})).await;
        say(&ann, &id, "after").await;
        assert_eq!(contents(&ben, &id).await, wanted, "{history}");
        assert_eq!(contents(&ann, &id).await, ["after", "before"]);
    }
}

#[tokio::test]
async fn a_group_takes_a_thousand_members_at_once() {
    let tenant = Tenant::new("members-many");
    let ann = tenant.user("ann");
    let names: Vec<String> = (0..1_000).map(|n| format!("user-{n}")).collect();
    let body = json!({"conversationId": "room", "type": "group", "members": names});
    assert_eq!(ann.ok(CREATE, body).await["memberCount"], 1_001);
    say(&tenant.user("user-999"), "room", "hello all").await;
    assert_eq!(contents(&tenant.user("user-0"), "room").await, ["hello all"]);
}
