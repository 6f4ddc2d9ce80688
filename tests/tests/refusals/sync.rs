//! Proves what `sync` asks for beyond other routes: a device.

use super::Room;
use im_tests::routes::SYNC;
use im_tests::token;
use serde_json::json;

#[tokio::test]
async fn without_a_device() {
    let room = Room::new("sync-no-device").await;
    let claims = token::claims(&room.tenant.name, "ann", None, "user");
    let body = json!({"conversationId": "room"});
    let answer = room.tenant.claiming(&claims).post(SYNC, body).await;
    answer.refused("invalid_request").naming("deviceId");
    let body = json!({"userId": "ann", "conversationId": "room"});
    let answer = room.tenant.service().post(SYNC, body).await;
    answer.refused("invalid_request").naming("deviceId");
}

#[tokio::test]
async fn the_device_is_that_of_the_token() {
    let room = Room::new("sync-other-device").await;
    let body = json!({"conversationId": "room", "deviceId": "ben-phone"});
    room.ann.post(SYNC, body).await.refused("forbidden").naming("deviceId");
}
