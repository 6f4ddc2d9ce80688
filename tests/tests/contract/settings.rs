//! Proves that `conversation/update` changes a member's own settings and everybody's, each by who may, all
//! that is named or nothing.

use im_tests::follow::update;
use im_tests::routes::{CREATE, MEMBERS, UPDATE};
use im_tests::shape;
use im_tests::talk::{contents, conversation, group, say};
use im_tests::tenant::Tenant;
use serde_json::json;

#[tokio::test]
async fn muting_is_each_members_own() {
    let tenant = Tenant::new("settings-muted");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    say(&ann, "room", "1").await;
    let before = conversation(&ann, "room").await;
    let answer = update(&ben, "room", json!({"muted": true})).await;
    assert_eq!(answer["muted"], true);
    assert_eq!(answer, conversation(&ben, "room").await);
    assert_eq!(conversation(&ann, "room").await, before, "nobody else's");
    assert_eq!(update(&ben, "room", json!({"muted": true})).await["muted"], true, "again");
    assert_eq!(update(&ben, "room", json!({"muted": false})).await["muted"], false);
    let single = ann.ok(CREATE, json!({"type": "single", "members": ["ben"]})).await;
    let id = shape::text(&single, "conversationId");
    assert_eq!(update(&ann, id, json!({"muted": true})).await["muted"], true, "single chats too");
}

#[tokio::test]
async fn muted_is_unread_all_the_same() {
    let tenant = Tenant::new("settings-unread");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    update(&ben, "room", json!({"muted": true})).await;
    say(&ann, "room", "1").await;
    assert_eq!(conversation(&ben, "room").await["unread"], 1);
}

#[tokio::test]
async fn history_is_for_those_who_have_joined_and_those_who_will() {
    let tenant = Tenant::new("settings-history");
    let (ann, ben, cid) = (tenant.user("ann"), tenant.user("ben"), tenant.user("cid"));
    group(&ann, "room", &[]).await;
    say(&ann, "room", "first").await;
    ann.ok(MEMBERS, json!({"conversationId": "room", "add": ["ben"]})).await;
    assert_eq!(contents(&ben, "room").await, ["first"]);
    update(&ann, "room", json!({"history": "from_join"})).await;
    assert!(contents(&ben, "room").await.is_empty());
    say(&ann, "room", "second").await;
    ann.ok(MEMBERS, json!({"conversationId": "room", "add": ["cid"]})).await;
    assert_eq!(contents(&ben, "room").await, ["second"]);
    assert!(contents(&cid, "room").await.is_empty());
    update(&ann, "room", json!({"history": "all"})).await;
    for user in [&ann, &ben, &cid] {
        assert_eq!(contents(user, "room").await, ["second", "first"]);
    }
}

#[tokio::test]
async fn history_is_set_by_owners_administrators_and_services() {
    let tenant = Tenant::new("settings-who");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben", "cid"]).await;
    ann.ok(MEMBERS, json!({"conversationId": "room", "roles": {"cid": "admin"}})).await;
    let body = json!({"conversationId": "room", "history": "from_join"});
    ben.post(UPDATE, body.clone()).await.refused("forbidden");
    tenant.user("eve").post(UPDATE, body.clone()).await.refused("not_member");
    for client in [&ann, &tenant.user("cid"), &tenant.service(), &tenant.admin()] {
        update(client, "room", json!({"history": "from_join"})).await;
        update(client, "room", json!({"history": "all"})).await;
    }
    // A stranger with rights sees nothing of what is said.
    say(&ann, "room", "secret").await;
    let seen = update(&tenant.service(), "room", json!({"history": "all"})).await;
    assert_eq!(seen["lastMsg"], json!(null));
    let for_ann = json!({"userId": "ann", "history": "all"});
    assert_eq!(update(&tenant.service(), "room", for_ann).await["lastMsg"]["summary"], "secret");
}

#[tokio::test]
async fn all_that_is_named_or_nothing() {
    let tenant = Tenant::new("settings-all");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let both = json!({"conversationId": "room", "muted": true, "history": "from_join"});
    ben.post(UPDATE, both.clone()).await.refused("forbidden");
    assert_eq!(conversation(&ben, "room").await["muted"], false);
    tenant.service().post(UPDATE, both).await.refused("not_member");
    say(&ann, "room", "said").await;
    ann.ok(MEMBERS, json!({"conversationId": "room", "add": ["cid"]})).await;
    assert_eq!(contents(&tenant.user("cid"), "room").await, ["said"], "history is as it was");
    let done = update(&ann, "room", json!({"muted": true, "history": "from_join"})).await;
    assert_eq!(done["muted"], true);
    assert!(contents(&tenant.user("cid"), "room").await.is_empty());
}

#[tokio::test]
async fn a_single_chat_has_one_history() {
    let tenant = Tenant::new("settings-single");
    let ann = tenant.user("ann");
    let single = ann.ok(CREATE, json!({"type": "single", "members": ["ben"]})).await;
    let mut body = json!({"conversationId": single["conversationId"], "history": "from_join"});
    ann.post(UPDATE, body.clone()).await.refused("invalid_request").naming("history");
    body["muted"] = true.into();
    ann.post(UPDATE, body).await.refused("invalid_request").naming("history");
    let id = shape::text(&single, "conversationId");
    assert_eq!(conversation(&ann, id).await["muted"], false);
}

#[tokio::test]
async fn nothing_to_change_is_refused() {
    let tenant = Tenant::new("settings-nothing");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    for body in [json!({}), json!({"muted": null}), json!({"muted": null, "history": null})] {
        let mut body = body;
        body["conversationId"] = "room".into();
        ann.post(UPDATE, body).await.refused("invalid_request").naming("muted");
    }
}

#[tokio::test]
async fn settings_leave_the_list_as_it_is() {
    let tenant = Tenant::new("settings-list");
    let ann = tenant.user("ann");
    for room in ["old", "new"] {
        group(&ann, room, &[]).await;
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    update(&ann, "old", json!({"muted": true, "history": "from_join"})).await;
    let listed = im_tests::walk::list_all(&ann, 100).await;
    assert_eq!(im_tests::follow::conversation_ids(&listed), ["new", "old"]);
    assert_eq!(listed[1]["muted"], true);
}
