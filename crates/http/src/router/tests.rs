//! What is refused before a route sees it, and in which order.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const NOW_MS: u64 = 1_000_000;

fn token(scope: &str) -> String {
    let claims = format!(r#"{{"tenant":"t","sub":"u","scope":"{scope}","exp":2000}}"#);
    let message = [r#"{"alg":"HS256"}"#, &claims].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(message.as_bytes());
    format!("Bearer {message}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

fn head(method: &str, path: &str, scope: Option<&str>) -> Head {
    Head { method: method.into(), path: path.into(), authorization: scope.map(token), ..Head::default() }
}

fn refusal(component: Component, head: &Head) -> Problem {
    admit(component, head, &Keys::parse(SECRET).unwrap(), NOW_MS).expect_err(&head.path)
}

#[test]
fn every_route_is_found_in_its_component_alone() {
    let keys = Keys::parse(SECRET).unwrap();
    for route in &ROUTES {
        for component in [Component::Send, Component::Pull, Component::Sync, Component::Archive] {
            let result = admit(component, &head(route.method, route.path, Some("admin")), &keys, NOW_MS);
            if component == route.component {
                assert_eq!(result.unwrap().op, route.op);
            } else {
                assert_eq!(result.unwrap_err().code, Code::NotFound);
            }
        }
    }
}

#[test]
fn unknown_paths_are_not_found_whatever_else_is_wrong() {
    for path in ["/", "/api", "/api/msg/recall", "/api/msg/send/", "/API/health", "/api/health/x", ""] {
        let problem = refusal(Component::Archive, &head("BREW", path, None));
        assert_eq!(problem.code, Code::NotFound, "{path}");
    }
}

#[test]
fn another_method_is_told_the_right_one_before_the_token_is_looked_at() {
    for route in &ROUTES {
        for method in ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "post"] {
            if method != route.method {
                let problem = refusal(route.component, &head(method, route.path, None));
                assert_eq!(problem.code, Code::MethodNotAllowed);
                assert_eq!(problem.response().header("allow"), Some(route.method));
            }
        }
    }
}

#[test]
fn tokens_are_needed_except_on_public_routes() {
    for route in &ROUTES {
        let head = head(route.method, route.path, None);
        let result = admit(route.component, &head, &Keys::parse(SECRET).unwrap(), NOW_MS);
        match route.access {
            Access::Public => assert!(result.unwrap().caller.is_none()),
            _ => assert_eq!(result.unwrap_err().code, Code::Unauthenticated),
        }
    }
}

#[test]
fn upkeep_needs_a_service_or_an_admin() {
    let keys = Keys::parse(SECRET).unwrap();
    for path in ["/api/archive/run", "/api/archive/status"] {
        let method = if path.ends_with("run") { "POST" } else { "GET" };
        let problem = refusal(Component::Archive, &head(method, path, Some("user")));
        assert_eq!(problem.code, Code::Forbidden);
        for scope in ["service", "admin"] {
            assert!(admit(Component::Archive, &head(method, path, Some(scope)), &keys, NOW_MS).is_ok());
        }
    }
}

#[test]
fn what_messages_were_needs_an_admin() {
    let wanted = |scope| head("POST", "/api/msg/versions", Some(scope));
    for scope in ["user", "service"] {
        assert_eq!(refusal(Component::Pull, &wanted(scope)).code, Code::Forbidden, "{scope}");
    }
    assert!(admit(Component::Pull, &wanted("admin"), &Keys::parse(SECRET).unwrap(), NOW_MS).is_ok());
}

#[test]
fn a_body_too_large_is_refused_after_the_token() {
    let mut head = head("POST", "/api/msg/send", Some("user"));
    head.content_length = Some(REQUEST_BYTES_MAX as u64 + 1);
    let problem = refusal(Component::Send, &head);
    assert_eq!((problem.code, problem.field.as_deref()), (Code::TooLarge, Some("body")));
    head.authorization = None;
    assert_eq!(refusal(Component::Send, &head).code, Code::Unauthenticated);
}
