//! Proves what `sync` asks for beyond other routes: a device.

use super::Room;
use im_tests::follow::devices;
use im_tests::routes::{DIGEST, GLOBAL, SYNC};
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

/// A service's own device is not that of the user it names.
#[tokio::test]
async fn a_services_own_device_is_nobody_elses() {
    let room = Room::new("sync-service-device").await;
    let claims = token::claims(&room.tenant.name, "backend", Some("rack"), "service");
    let service = room.tenant.claiming(&claims);
    let body = json!({"userId": "ann", "conversationId": "room"});
    service.post(SYNC, body).await.refused("invalid_request").naming("deviceId");
    service.ok(GLOBAL, json!({"userId": "ann"})).await;
    service.ok(DIGEST, json!({"userId": "ann"})).await;
    assert_eq!(devices(&room.ann, None).await, Vec::<String>::new());
    service.ok(GLOBAL, json!({})).await;
    assert_eq!(devices(&service, None).await, ["rack"], "its own");
}

#[tokio::test]
async fn the_device_is_that_of_the_token() {
    let room = Room::new("sync-other-device").await;
    let body = json!({"conversationId": "room", "deviceId": "ben-phone"});
    room.ann.post(SYNC, body).await.refused("forbidden").naming("deviceId");
}
