//! Proves that unknown routes answer 404 and known ones 405 to a wrong method, before any token is
//! asked for, and that routes of later versions are unknown.

use super::Room;
use bytes::Bytes;
use hyper::Method;
use im_tests::routes::{LATER, OPEN, POSTS, STATUS};
use im_tests::tenant::Tenant;
use serde_json::json;

#[tokio::test]
async fn wrong_method() {
    let room = Room::new("route-method").await;
    let wrong = [Method::GET, Method::PUT, Method::DELETE, Method::PATCH];
    for route in POSTS {
        for method in wrong.clone() {
            for client in [room.tenant.nobody(), room.tenant.admin()] {
                let answer = client.exchange(method.clone(), route, Bytes::new()).await;
                answer.refused("method_not_allowed");
                assert_eq!(answer.headers["allow"], "POST", "{route}: RFC 9110, 15.5.6");
            }
        }
    }
    room.untouched().await;
}

#[tokio::test]
async fn wrong_method_where_get_is_right() {
    let tenant = Tenant::new("route-get");
    for route in OPEN.into_iter().chain([STATUS]) {
        for client in [tenant.nobody(), tenant.admin()] {
            let answer = client.post(route, json!({})).await;
            answer.refused("method_not_allowed");
            let allowed = answer.headers["allow"].to_str().expect("ASCII");
            assert!(allowed.split(',').any(|method| method.trim() == "GET"), "{allowed}");
        }
    }
}

#[tokio::test]
async fn unknown_route() {
    let tenant = Tenant::new("route-unknown");
    let routes = [
        "/",
        "/api",
        "/api/msg",
        "/api/msg/send/x",
        "/api/msg/sendx",
        "/API/msg/send",
        "/api/msg/Send",
        "/api/nothing",
        "/favicon.ico",
        "/api/health/x",
    ];
    for route in routes {
        for client in [tenant.nobody(), tenant.admin()] {
            client.post(route, json!({})).await.refused("not_found");
            client.get(route).await.refused("not_found");
        }
    }
}

#[tokio::test]
async fn routes_of_later_versions() {
    let tenant = Tenant::new("route-later");
    for route in LATER {
        for client in [tenant.nobody(), tenant.admin(), tenant.user("ann")] {
            client.post(route, json!({})).await.refused("not_found");
            client.get(route).await.refused("not_found");
        }
    }
}
