//! Proves that nobody reads or writes where he may not: outsiders, other tenants, users who name
//! others, users in system conversations, plain members who manage members.

use super::Room;
use im_tests::client::Client;
use im_tests::routes::{
    CREATE, DELETE, DIGEST, EDIT, ERASE, EXPORT, GLOBAL, MEMBERS, OF_A_CONVERSATION, OF_OPERATORS, POSTS,
    RECALL, SEND, STATUS, VERSIONS, good_body,
};
use im_tests::shape;
use im_tests::talk::text;
use im_tests::tenant::Tenant;
use serde_json::{Value, json};

#[tokio::test]
async fn not_a_member() {
    let room = Room::new("access-outsider").await;
    let eve = room.tenant.user("eve");
    for route in OF_A_CONVERSATION {
        eve.post(route, good_body(route, "room")).await.refused("not_member");
    }
    room.untouched().await;
}

#[tokio::test]
async fn not_a_member_though_a_service_asks() {
    let room = Room::new("access-service").await;
    // Who is privileged changes members and revises messages without being a member.
    for route in OF_A_CONVERSATION.into_iter().filter(|route| ![MEMBERS, RECALL, EDIT].contains(route)) {
        let mut body = good_body(route, "room");
        body["userId"] = "eve".into();
        if route == im_tests::routes::SYNC {
            body["deviceId"] = "eve-phone".into();
        }
        room.tenant.service().post(route, body).await.refused("not_member");
    }
    room.untouched().await;
}

/// The one error of a call for one message.
async fn told_of_one(by: &Client, conversation: &str) -> Value {
    let answer = by.ok(DELETE, good_body(DELETE, conversation)).await;
    shape::list(&answer, "results")[0]["error"]["code"].clone()
}

#[tokio::test]
async fn what_is_deleted_is_told_for_each_message() {
    let room = Room::new("access-delete").await;
    assert_eq!(told_of_one(&room.tenant.user("eve"), "room").await, "not_member");
    assert_eq!(told_of_one(&room.ann, "nowhere").await, "conversation_not_found");
    let others_ann = Tenant::new("access-delete-other").user("ann");
    assert_eq!(told_of_one(&others_ann, "room").await, "conversation_not_found");
    assert_eq!(told_of_one(&room.ann, "room").await, "message_not_found");
    room.untouched().await;
}

#[tokio::test]
async fn joining_by_creating_again() {
    let room = Room::new("access-create").await;
    let body = json!({"conversationId": "room", "type": "group", "members": ["eve"]});
    room.tenant.user("eve").post(CREATE, body).await.refused("not_member");
    room.untouched().await;
}

#[tokio::test]
async fn unknown_conversation() {
    let room = Room::new("access-unknown").await;
    for route in OF_A_CONVERSATION {
        let answer = room.ann.post(route, good_body(route, "nowhere")).await;
        answer.refused("conversation_not_found");
    }
    room.untouched().await;
}

#[tokio::test]
async fn another_tenant() {
    let room = Room::new("access-tenant").await;
    let others_ann = Tenant::new("access-tenant-other").user("ann");
    for route in OF_A_CONVERSATION {
        let answer = others_ann.post(route, good_body(route, "room")).await;
        answer.refused("conversation_not_found");
    }
    room.untouched().await;
}

#[tokio::test]
async fn a_user_who_names_another() {
    let room = Room::new("access-user-id").await;
    for route in POSTS.into_iter().filter(|route| !OF_OPERATORS.contains(route)) {
        let mut body = good_body(route, "room");
        body["userId"] = "ben".into();
        room.ann.post(route, body).await.refused("forbidden").naming("userId");
    }
    for route in [GLOBAL, DIGEST] {
        let answer = room.ann.post(route, json!({"deviceId": "ben-phone"})).await;
        answer.refused("forbidden").naming("deviceId");
    }
    room.untouched().await;
}

#[tokio::test]
async fn a_user_who_names_another_in_a_batch() {
    let room = Room::new("access-user-batch").await;
    let mut item = text("room", "1", "as Ben");
    item["userId"] = "ben".into();
    let answer = room.ann.ok(SEND, json!({"messages": [item]})).await;
    let error = &answer["results"][0]["error"];
    assert_eq!((&error["code"], &error["field"]), (&json!("forbidden"), &json!("userId")));
    room.untouched().await;
}

#[tokio::test]
async fn a_user_may_name_himself() {
    let room = Room::new("access-self").await;
    let body = json!({"userId": "ann", "conversationId": "room"});
    assert_eq!(room.ann.ok("/api/conversation/get", body).await["headSeq"], 1);
}

#[tokio::test]
async fn the_archive_is_for_services_and_administrators() {
    let room = Room::new("access-archive").await;
    for route in OF_OPERATORS {
        room.ann.post(route, json!({})).await.refused("forbidden");
    }
    room.ann.get(STATUS).await.refused("forbidden");
    for route in [VERSIONS, EXPORT, ERASE] {
        room.tenant.service().post(route, good_body(route, "room")).await.refused("forbidden");
    }
}

#[tokio::test]
async fn a_user_makes_no_system_conversation() {
    let room = Room::new("access-system").await;
    let body = json!({"conversationId": "news", "type": "system", "members": ["ben"]});
    room.ann.post(CREATE, body).await.refused("forbidden");
    room.untouched().await;
}

#[tokio::test]
async fn a_user_writes_into_no_system_conversation() {
    let room = Room::new("access-news").await;
    let service = room.tenant.service();
    let body = json!({
        "userId": "notices", "conversationId": "news", "type": "system", "members": ["ann"],
    });
    service.ok(CREATE, body).await;
    room.ann.post(SEND, text("news", "1", "me too")).await.refused("forbidden");
    assert!(im_tests::talk::contents(&room.ann, "news").await.is_empty());
}

#[tokio::test]
async fn a_plain_member_manages_nobody() {
    let room = Room::new("access-member").await;
    room.ann.ok(MEMBERS, json!({"conversationId": "room", "add": ["cid"]})).await;
    let before = im_tests::talk::conversation(&room.ann, "room").await;
    for change in [
        json!({"add": ["dan"]}),
        json!({"remove": ["cid"]}),
        json!({"remove": ["ann"]}),
        json!({"roles": {"ben": "owner"}}),
        json!({"roles": {"cid": "admin"}}),
        json!({"remove": ["ben"], "add": ["dan"]}),
    ] {
        let mut body = change;
        body["conversationId"] = "room".into();
        room.ben.post(MEMBERS, body).await.refused("forbidden");
    }
    assert_eq!(im_tests::talk::conversation(&room.ann, "room").await, before);
}

#[tokio::test]
async fn an_admin_changes_no_roles() {
    let room = Room::new("access-admin").await;
    let promote = json!({"conversationId": "room", "roles": {"ben": "admin"}});
    room.ann.ok(MEMBERS, promote).await;
    let body = json!({"conversationId": "room", "roles": {"ben": "owner"}});
    room.ben.post(MEMBERS, body).await.refused("forbidden");
}

#[tokio::test]
async fn a_single_chat_keeps_its_two_members() {
    let room = Room::new("access-single").await;
    let made = room.ann.ok(CREATE, json!({"type": "single", "members": ["ben"]})).await;
    for change in [
        json!({"add": ["cid"]}),
        json!({"remove": ["ben"]}),
        json!({"remove": ["ann"]}),
        json!({"roles": {"ben": "admin"}}),
    ] {
        let mut body = change;
        body["conversationId"] = made["conversationId"].clone();
        room.ann.post(MEMBERS, body).await.refused("invalid_request");
    }
}
