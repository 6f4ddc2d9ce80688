//! Proves that the served OpenAPI document tells the truth: version 3.1, every route it lists
//! answers, none that works is left out, limits and required fields are in it, and real answers
//! have the shapes it describes.

use bytes::Bytes;
use hyper::Method;
use im_tests::document::Document;
use im_tests::follow::{global, up_to_date};
use im_tests::push::until_due;
use im_tests::routes::{
    CHANGES, CONVERSATION, CREATE, DELETE, DEVICES, DIGEST, EDIT, EXPORT, GET, GLOBAL, LATER, LIST, MEMBERS,
    OFFLINE, OPEN, OPENAPI, POSTS, PULL, PUSH_DUE, PUSH_SETTINGS, READ, RECALL, RUN, SEND, STATUS, SYNC,
    UPDATE, VERSIONS, good_body,
};
use im_tests::shape;
use im_tests::talk::{group, say, say_many, text};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[tokio::test]
async fn it_is_openapi_3_1() {
    let tenant = Tenant::new("openapi-version");
    let Document(document) = Document::fetch(&tenant.nobody()).await;
    assert!(shape::text(&document, "openapi").starts_with("3.1."), "{}", document["openapi"]);
    assert!(!shape::text(&document["info"], "title").is_empty());
    assert!(!shape::text(&document["info"], "version").is_empty());
}

#[tokio::test]
async fn it_lists_the_routes_that_work_and_no_others() {
    let tenant = Tenant::new("openapi-routes");
    let document = Document::fetch(&tenant.nobody()).await;
    let listed: BTreeSet<&str> =
        document.0["paths"].as_object().expect("paths").keys().map(String::as_str).collect();
    let wanted: BTreeSet<&str> = POSTS.into_iter().chain(OPEN).chain([STATUS]).collect();
    assert_eq!(listed, wanted);
    for route in LATER {
        assert!(!listed.contains(route), "{route} does not work yet");
    }
}

#[tokio::test]
async fn every_route_it_lists_answers() {
    let tenant = Tenant::new("openapi-answers");
    let document = Document::fetch(&tenant.nobody()).await;
    for (route, item) in document.0["paths"].as_object().expect("paths") {
        for method in item.as_object().expect("operations").keys() {
            let Ok(method) = method.to_uppercase().parse::<Method>() else { continue };
            if !matches!(method, Method::GET | Method::POST) {
                continue;
            }
            let answer = tenant.nobody().exchange(method.clone(), route, Bytes::from("{}")).await;
            let open = OPEN.contains(&route.as_str());
            assert_eq!(answer.status, if open { 200 } else { 401 }, "{method} {route}");
        }
    }
}

#[tokio::test]
async fn it_says_who_needs_a_token_and_what_goes_wrong() {
    let tenant = Tenant::new("openapi-security");
    let document = Document::fetch(&tenant.nobody()).await;
    let schemes = document.0["components"]["securitySchemes"].as_object().expect("schemes");
    assert!(schemes.values().any(|scheme| scheme["type"] == "http" && scheme["scheme"] == "bearer"));
    let everywhere = document.0["security"].as_array().is_some_and(|all| !all.is_empty());
    let guarded = POSTS.map(|route| (route, "post")).into_iter().chain([(STATUS, "get")]);
    for (route, method) in guarded {
        let operation = document.operation(route, method);
        let own = operation["security"].as_array().map(|all| !all.is_empty());
        assert!(own.unwrap_or(everywhere), "{route} needs a token");
        let responses = operation["responses"].as_object().expect("responses");
        let described = |status: &str| {
            let fallback = responses.get("4XX").or_else(|| responses.get("default"));
            let answer = responses.get(status).or(fallback);
            let answer = document.resolve(answer.unwrap_or(&Value::Null));
            answer["content"]["application/problem+json"].is_object()
        };
        assert!(described("401"), "{route}: 401");
        assert!(method == "get" || described("400"), "{route}: 400");
    }
    for route in OPEN {
        let own = document.operation(route, "get")["security"].as_array();
        let free = own.map_or(!everywhere, |all| all.is_empty() || all.contains(&json!({})));
        assert!(free, "{route} needs no token");
    }
}

#[tokio::test]
async fn it_states_the_limits() {
    let tenant = Tenant::new("openapi-limits");
    let document = Document::fetch(&tenant.nobody()).await;
    let limits = [
        (SEND, "messages", "minItems", 1),
        (SEND, "messages", "maxItems", 100),
        (SEND, "clientMsgId", "minLength", 1),
        (SEND, "clientMsgId", "maxLength", 64),
        (SEND, "conversationId", "maxLength", 64),
        (SEND, "content", "maxLength", 65_536),
        (PULL, "limit", "minimum", 1),
        (PULL, "limit", "maximum", 100),
        (PULL, "limit", "default", 20),
        (PULL, "requests", "minItems", 1),
        (PULL, "requests", "maxItems", 50),
        (GET, "msgIds", "minItems", 1),
        (GET, "msgIds", "maxItems", 100),
        (SYNC, "limit", "maximum", 100),
        (SYNC, "limit", "default", 100),
        (LIST, "limit", "maximum", 100),
        (GLOBAL, "limit", "maximum", 100),
        (GLOBAL, "limit", "default", 100),
        (DIGEST, "limit", "maximum", 100),
        (DIGEST, "limit", "default", 50),
        (DIGEST, "latest", "maximum", 5),
        (DIGEST, "latest", "default", 1),
        (PUSH_SETTINGS, "muted", "maxItems", 1_000),
        (RECALL, "reason", "maxLength", 200),
        (EDIT, "content", "maxLength", 65_536),
        (DELETE, "msgIds", "maxItems", 100),
        (DELETE, "reason", "maxLength", 200),
        (PUSH_DUE, "limit", "default", 100),
        (CHANGES, "limit", "maximum", 100),
        (CHANGES, "limit", "default", 100),
        (EXPORT, "limit", "maximum", 100),
        (PUSH_DUE, "confirm", "maxItems", 1_000),
    ];
    let missing: Vec<_> = limits
        .into_iter()
        .filter(|(route, name, keyword, value)| !document.limits(route, name, keyword, *value))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[tokio::test]
async fn it_states_the_required_fields_and_allows_no_others() {
    let tenant = Tenant::new("openapi-required");
    let document = Document::fetch(&tenant.nobody()).await;
    let required: [(&str, &[&str]); 12] = [
        (SEND, &["clientMsgId", "type", "content"]),
        (CREATE, &["type", "members"]),
        (MEMBERS, &["conversationId"]),
        (GET, &["conversationId", "msgIds"]),
        (SYNC, &["conversationId"]),
        (CONVERSATION, &["conversationId"]),
        (UPDATE, &["conversationId"]),
        (READ, &["conversationId", "msgId"]),
        (RECALL, &["conversationId", "msgId"]),
        (EDIT, &["conversationId", "msgId", "content"]),
        (DELETE, &["conversationId", "msgIds", "scope"]),
        (VERSIONS, &["conversationId", "msgId"]),
    ];
    for (route, fields) in required {
        let found = document.with_property(document.request_schema(route), fields[0]);
        let whole = found.iter().any(|(object, _)| {
            let listed = object["required"].as_array().cloned().unwrap_or_default();
            fields.iter().all(|field| listed.contains(&json!(field)))
        });
        assert!(whole, "{route} requires {fields:?}");
        let closed = |(object, _): &(&Value, &Value)| {
            object["additionalProperties"] == false || object["unevaluatedProperties"] == false
        };
        assert!(found.iter().all(closed), "{route} refuses unknown fields");
    }
}

/// A part of what has changed that has all there can be: a conversation that was left, and a reset.
async fn left(tenant: &Tenant) -> Value {
    let cid = tenant.user("cid");
    group(&tenant.user("ann"), "other", &["cid"]).await;
    let cursor = up_to_date(&cid).await;
    cid.ok(MEMBERS, json!({"conversationId": "other", "remove": ["cid"]})).await;
    let mut part = global(&cid, json!({"cursor": cursor})).await;
    assert_eq!(part["changed"][0]["left"], true);
    part["reset"] = json!({"reason": "epoch_changed", "oldestMsgId": "0"});
    part
}

/// Somebody to wake, with a preview.
async fn due(tenant: &Tenant) -> Value {
    let ann = tenant.user("ann");
    group(&ann, "due", &["dan"]).await;
    say_many(&ann, "due", 5).await;
    let given = until_due(&tenant.service(), ["dan"]).await;
    assert!(given["dan"]["preview"].is_array());
    json!({"due": given.values().collect::<Vec<_>>()})
}

#[tokio::test]
async fn real_answers_have_the_shapes_it_describes() {
    let tenant = Tenant::new("openapi-shapes");
    let document = Document::fetch(&tenant.nobody()).await;
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    let first = say(&ann, "room", "first").await;
    document.describes(&first, SEND, "post");
    let mut reply = text("room", "2", "second");
    reply["replyTo"] = json!({"msgId": first["msgId"]});
    reply["ext"] = json!({"free": [1, {"as": "air"}]});
    let calls = [
        (SEND, json!({"messages": [reply, text("nowhere", "3", "x")]})),
        (PULL, json!({"conversationId": "room"})),
        (PULL, json!({"requests": [{"conversationId": "room"}, {"conversationId": "nowhere"}]})),
        (GET, json!({"conversationId": "room", "msgIds": [first["msgId"], "1"]})),
        (SYNC, json!({"conversationId": "room", "lastMsgId": i64::MAX.to_string()})),
        (CREATE, good_body(CREATE, "room")),
        (MEMBERS, json!({"conversationId": "room", "add": ["cid"]})),
        (CONVERSATION, json!({"conversationId": "room"})),
        (LIST, json!({})),
        (UPDATE, json!({"conversationId": "room", "muted": true})),
        (GLOBAL, json!({})),
        (DIGEST, json!({"latest": 5})),
        (READ, json!({"conversationId": "room", "msgId": first["msgId"]})),
        (OFFLINE, json!({})),
        (EDIT, json!({"conversationId": "room", "msgId": first["msgId"], "content": "first"})),
        (EDIT, json!({"conversationId": "room", "msgId": first["msgId"], "content": "another"})),
        (PULL, json!({"conversationId": "room"})),
        (RECALL, json!({"conversationId": "room", "msgId": first["msgId"], "reason": "a slip"})),
        (DELETE, json!({"conversationId": "room", "msgIds": [first["msgId"], "1"], "scope": "all"})),
        (PULL, json!({"conversationId": "room"})),
        (SYNC, json!({"conversationId": "room"})),
        (LIST, json!({})),
        (DIGEST, json!({"latest": 5})),
        (GLOBAL, json!({})),
        (DEVICES, json!({})),
        (PUSH_SETTINGS, json!({"showContent": true})),
    ];
    for (route, body) in calls {
        let answer = ann.ok(route, body).await;
        document.describes(&answer, route, "post");
    }
    ann.ok(MEMBERS, json!({"conversationId": "room", "remove": ["cid"]})).await;
    document.describes(&left(&tenant).await, GLOBAL, "post");
    document.describes(&due(&tenant).await, PUSH_DUE, "post");
    let admin = tenant.admin();
    document.describes(&admin.ok(RUN, json!({})).await, RUN, "post");
    let versions = admin.ok(VERSIONS, json!({"conversationId": "room", "msgId": first["msgId"]})).await;
    document.describes(&versions, VERSIONS, "post");
    for route in OPEN.into_iter().filter(|route| *route != OPENAPI).chain([STATUS]) {
        document.describes(&admin.get(route).await.ok(), route, "get");
    }
    // The checker itself finds faults.
    let schema = document.answer_schema(SEND, "post");
    assert!(document.differs(&json!({"msgId": 5}), schema).is_some());
}
