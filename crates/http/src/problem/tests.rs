//! The problem table, whole: every error of the domain and every case of the edge, with its code,
//! status, field and headers.

use super::*;
use serde_json::{Value, json};

fn domain_table() -> Vec<(Error, &'static str, u16, Option<&'static str>)> {
    let ms = 1_500;
    vec![
        (Error::invalid("limit", "x"), "invalid_request", 400, Some("limit")),
        (Error::too_large("content", "x"), "too_large", 413, Some("content")),
        (Error::forbidden("x"), "forbidden", 403, None),
        (Error::forbidden_value("type", "x"), "forbidden", 403, Some("type")),
        (Error::NotMember, "not_member", 403, None),
        (Error::ConversationNotFound, "conversation_not_found", 404, None),
        (Error::MessageNotFound { field: "msgId".into() }, "message_not_found", 404, Some("msgId")),
        (Error::conflict("clientMsgId", "x"), "conflict", 409, Some("clientMsgId")),
        (Error::RateLimited { retry_after_ms: ms }, "rate_limited", 429, None),
        (Error::Overloaded { retry_after_ms: ms }, "overloaded", 503, None),
        (Error::HotUnavailable { retry_after_ms: ms }, "hot_unavailable", 503, None),
        (Error::SqlUnavailable { retry_after_ms: ms }, "sql_unavailable", 503, None),
        (Error::internal("disk on fire at /secret"), "internal", 500, None),
    ]
}

fn document(response: &Response) -> Value {
    assert_eq!(response.header("content-type"), Some(PROBLEM_JSON));
    assert_eq!(response.header("content-length"), Some(response.body.len().to_string().as_str()));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    serde_json::from_slice(&response.body).unwrap()
}

#[test]
fn every_domain_error_has_its_code_status_and_field() {
    for (error, code, status, field) in domain_table() {
        let retry = error.is_systemic() && code != "internal";
        let response = Problem::from(error).response();
        let document = document(&response);
        assert_eq!(response.status, status, "{code}");
        assert_eq!(document["status"], status);
        assert_eq!(document["code"], code);
        assert_eq!(document["type"], format!("urn:im-store:problem:{code}"));
        assert_eq!(document.get("field").and_then(Value::as_str), field, "{code}");
        assert!(!document["title"].as_str().unwrap().is_empty());
        assert!(!document["detail"].as_str().unwrap().is_empty());
        assert_eq!(document.get("retryAfterMs"), retry.then(|| json!(1_500)).as_ref(), "{code}");
        assert_eq!(response.header("retry-after"), retry.then_some("2"), "rounded up: {code}");
    }
}

#[test]
fn the_cases_of_the_edge_have_their_headers() {
    let refused = Problem::unauthenticated("the token has expired").response();
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    let method = Problem::method_not_allowed("POST").response();
    assert_eq!((method.status, method.header("allow")), (405, Some("POST")));
    assert_eq!(Problem::not_found().response().status, 404);
    let large = Problem::body_too_large().response();
    assert_eq!((large.status, document(&large)["field"].as_str()), (413, Some("body")));
}

#[test]
fn all_codes_are_reached_and_differ() {
    let domain = domain_table().into_iter().map(|(error, ..)| Problem::from(error).code.as_str());
    let mut reached: Vec<_> = domain.chain(["unauthenticated", "not_found", "method_not_allowed"]).collect();
    reached.sort();
    reached.dedup();
    let mut all: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    all.sort();
    assert_eq!(reached, all);
}

#[test]
fn what_is_inside_stays_inside() {
    let response = Problem::from(Error::internal("disk on fire at /secret")).response();
    assert!(!String::from_utf8(response.body).unwrap().contains("secret"));
}

#[test]
fn a_long_field_or_detail_is_cut() {
    let problem = Problem::invalid("é".repeat(5_000), "x".repeat(5_000));
    assert_eq!(problem.field.unwrap().chars().count(), PROBLEM_FIELD_CHARS_MAX + 1);
    assert_eq!(problem.detail.chars().count(), PROBLEM_DETAIL_CHARS_MAX + 1);
}
