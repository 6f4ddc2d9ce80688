//! Proves which names are good: 1 to 64 characters of `A–Z a–z 0–9 . _ : @ -`, wherever a name is
//! given, and that ids of pair chats cannot be taken by others.

use super::Room;
use im_tests::routes::{
    CREATE, DEVICES, DIGEST, GLOBAL, LIST, MEMBERS, OF_A_CONVERSATION, OFFLINE, PULL, PUSH_SETTINGS, RECALL,
    SEND, SYNC, good_body,
};
use im_tests::talk::{contents, group, say, send, text};
use im_tests::tenant::Tenant;
use serde_json::json;

const EVERY_CHARACTER: &str = "azAZ09._:@-";

fn bad_names() -> Vec<String> {
    let mut names =
        ["", " ", "a b", "a/b", "é", "😀", "a\0", "a\n", "a%20b", "a'b", "a\"b", "a{b}", "a,b", "a+b"]
            .map(str::to_owned)
            .to_vec();
    names.push("x".repeat(65));
    names
}

#[tokio::test]
async fn bad_conversation_ids() {
    let room = Room::new("name-conversation").await;
    for route in OF_A_CONVERSATION.into_iter().chain([CREATE]) {
        for name in bad_names() {
            let mut body = good_body(route, "room");
            body["conversationId"] = name.into();
            room.ann.post(route, body).await.refused("invalid_request").naming("conversationId");
        }
    }
    room.untouched().await;
}

#[tokio::test]
async fn bad_user_ids() {
    let room = Room::new("name-user").await;
    let service = room.tenant.service();
    for name in bad_names() {
        let body = json!({"toUserId": name, "clientMsgId": "1", "type": "text", "content": "x"});
        room.ann.post(SEND, body).await.refused("invalid_request").naming("toUserId");
        for route in [SEND, RECALL, LIST, CREATE, GLOBAL, OFFLINE, PUSH_SETTINGS] {
            let mut body = good_body(route, "room");
            body["userId"] = name.as_str().into();
            service.post(route, body).await.refused("invalid_request").naming("userId");
        }
    }
    room.untouched().await;
}

#[tokio::test]
async fn bad_members() {
    let room = Room::new("name-members").await;
    for name in bad_names() {
        let bodies = [
            (CREATE, "members", json!({"type": "group", "members": ["ben", name]})),
            (MEMBERS, "add", json!({"conversationId": "room", "add": ["cid", name]})),
            (MEMBERS, "remove", json!({"conversationId": "room", "remove": [name]})),
            (MEMBERS, "roles", json!({"conversationId": "room", "roles": {name: "admin"}})),
        ];
        for (route, field, body) in bodies {
            let answer = room.ann.post(route, body).await;
            answer.refused("invalid_request");
            let named = answer.body["field"].as_str().unwrap_or_default();
            assert!(named.starts_with(field), "{route}: {}", answer.body);
        }
    }
    room.untouched().await;
}

#[tokio::test]
async fn bad_client_message_ids() {
    let room = Room::new("name-client-id").await;
    for name in [String::new(), "x".repeat(65)] {
        let answer = room.ann.post(SEND, text("room", &name, "x")).await;
        answer.refused("invalid_request").naming("clientMsgId");
    }
    room.untouched().await;
}

#[tokio::test]
async fn bad_device_ids() {
    let room = Room::new("name-device").await;
    for name in bad_names() {
        let body = json!({"userId": "ann", "deviceId": name, "conversationId": "room"});
        let answer = room.tenant.service().post(SYNC, body).await;
        answer.refused("invalid_request").naming("deviceId");
        for route in [GLOBAL, DIGEST] {
            let body = json!({"userId": "ann", "deviceId": name});
            let answer = room.tenant.service().post(route, body).await;
            answer.refused("invalid_request").naming("deviceId");
        }
        room.ann.post(DEVICES, json!({"forget": name})).await.refused("invalid_request").naming("forget");
    }
}

#[tokio::test]
async fn the_longest_names_and_every_character_are_good() {
    let tenant = Tenant::new("name-good");
    let mut long = EVERY_CHARACTER.to_owned();
    long.push_str(&"x".repeat(64 - long.len()));
    for name in ["x", EVERY_CHARACTER, &long] {
        let user = tenant.device(name, name);
        group(&user, name, &[]).await;
        send(&user, text(name, name, "hello")).await;
        assert_eq!(contents(&user, name).await, ["hello"]);
        user.ok(SYNC, json!({"conversationId": name})).await;
    }
}

#[tokio::test]
async fn ids_differ_by_case() {
    let tenant = Tenant::new("name-case");
    let (upper, lower) = (tenant.user("Ann"), tenant.user("ann"));
    group(&upper, "Room", &[]).await;
    group(&lower, "room", &[]).await;
    say(&upper, "Room", "upper").await;
    assert!(contents(&lower, "room").await.is_empty());
    lower.post(PULL, json!({"conversationId": "Room"})).await.refused("not_member");
}

#[tokio::test]
async fn ids_of_pair_chats_are_reserved() {
    let room = Room::new("name-reserved").await;
    for kind in ["group", "single"] {
        let body = json!({"conversationId": "single:mine", "type": kind, "members": ["ben"]});
        room.ann.post(CREATE, body).await.refused("invalid_request").naming("conversationId");
    }
    // The id of somebody else's pair.
    let other = room.tenant.user("cid");
    let pair = other.ok(CREATE, json!({"type": "single", "members": ["dan"]})).await;
    let id = &pair["conversationId"];
    let body = json!({"conversationId": id, "type": "group", "members": []});
    let answer = room.ann.post(CREATE, body).await;
    assert!(matches!(answer.status, 400 | 403), "{}", answer.body);
    room.untouched().await;
}
