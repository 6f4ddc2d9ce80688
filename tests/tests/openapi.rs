//! Proves that the served OpenAPI document tells the truth: version 3.1, every route it lists
//! answers, none that works is left out, limits and required fields are in it, and real answers
//! have the shapes it describes.

use bytes::Bytes;
use hyper::Method;
use im_tests::client::Client;
use im_tests::routes::{
    CONVERSATION, CREATE, GET, LATER, LIST, MEMBERS, OPEN, OPENAPI, POSTS, PULL, RUN, SEND, STATUS, SYNC,
    good_body,
};
use im_tests::shape;
use im_tests::talk::{group, say, text};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Deepest nesting of schemas that is followed.
const DEPTH_MAX: usize = 24;

struct Document(Value);

impl Document {
    async fn fetch(client: &Client) -> Self {
        Self(client.get(OPENAPI).await.ok())
    }

    fn operation(&self, route: &str, method: &str) -> &Value {
        let found = &self.0["paths"][route][method];
        assert!(found.is_object(), "{method} {route} is not described");
        found
    }

    /// Follows references.
    fn resolve<'a>(&'a self, mut node: &'a Value) -> &'a Value {
        for _ in 0..DEPTH_MAX {
            let Some(reference) = node["$ref"].as_str() else { return node };
            let pointer = reference.strip_prefix('#').expect("a reference within the document");
            node = self.0.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"));
        }
        panic!("references in a circle: {node}");
    }

    fn request_schema(&self, route: &str) -> &Value {
        let body = self.resolve(&self.operation(route, "post")["requestBody"]);
        let schema = &body["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{route}: no schema of the request");
        schema
    }

    fn answer_schema(&self, route: &str, method: &str) -> &Value {
        let answer = self.resolve(&self.operation(route, method)["responses"]["200"]);
        let schema = &answer["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{route}: no schema of the answer");
        schema
    }

    /// All schemas below `schema` that describe an object with this property, each with the
    /// property's own schema.
    fn with_property<'a>(
        &'a self,
        schema: &'a Value,
        name: &str,
        depth: usize,
    ) -> Vec<(&'a Value, &'a Value)> {
        let schema = self.resolve(schema);
        let mut found = Vec::new();
        if depth == DEPTH_MAX {
            return found;
        }
        if let Some(property) = schema["properties"].get(name) {
            found.push((schema, self.resolve(property)));
        }
        let parts = ["oneOf", "anyOf", "allOf", "prefixItems"].into_iter();
        let mut below: Vec<&Value> =
            parts.flat_map(|part| schema[part].as_array().into_iter().flatten()).collect();
        below.extend(schema["properties"].as_object().into_iter().flat_map(|fields| fields.values()));
        below.extend(
            [&schema["items"], &schema["additionalProperties"]].into_iter().filter(|s| s.is_object()),
        );
        for part in below {
            found.extend(self.with_property(part, name, depth + 1));
        }
        found
    }

    /// Whether some schema of the property `name` in requests to `route` sets `keyword` to `value`;
    /// a nullable one may say it in one of its parts.
    fn limits(&self, route: &str, name: &str, keyword: &str, value: u64) -> bool {
        let says = |schema: &Value| schema[keyword] == value;
        self.with_property(self.request_schema(route), name, 0).into_iter().any(|(_, property)| {
            let parts = ["oneOf", "anyOf", "allOf"].into_iter();
            let mut parts = parts.flat_map(|part| property[part].as_array().into_iter().flatten());
            says(property) || parts.any(|part| says(self.resolve(part)))
        })
    }

    /// Why `value` is not what `schema` describes; covers the keywords that matter for answers.
    fn differs(&self, value: &Value, schema: &Value, depth: usize) -> Option<String> {
        let schema = self.resolve(schema);
        if depth == DEPTH_MAX {
            return None;
        }
        for choice in ["oneOf", "anyOf"] {
            let Some(parts) = schema[choice].as_array() else { continue };
            if parts.iter().all(|part| self.differs(value, part, depth + 1).is_some()) {
                return Some(format!("{value} is none of {choice} {parts:?}"));
            }
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            if let Some(why) = self.differs(value, part, depth + 1) {
                return Some(why);
            }
        }
        if !type_fits(value, &schema["type"]) {
            return Some(format!("{value} is no {}", schema["type"]));
        }
        let allowed = schema["enum"].as_array();
        if allowed.is_some_and(|allowed| !allowed.contains(value)) {
            return Some(format!("{value} is none of {allowed:?}"));
        }
        if let Some(fields) = value.as_object() {
            for required in schema["required"].as_array().into_iter().flatten() {
                let name = required.as_str().unwrap_or_default();
                if !fields.contains_key(name) {
                    return Some(format!("{value} lacks {name}"));
                }
            }
            for (name, field) in fields {
                let Some(property) = schema["properties"].get(name) else {
                    if schema["additionalProperties"] == false || schema["properties"].is_object() {
                        return Some(format!("`{name}` is not described"));
                    }
                    continue;
                };
                if let Some(why) = self.differs(field, property, depth + 1) {
                    return Some(format!("{name}: {why}"));
                }
            }
        }
        let items = value.as_array().into_iter().flatten();
        let items = items.filter(|_| schema["items"].is_object());
        items.into_iter().find_map(|item| self.differs(item, &schema["items"], depth + 1))
    }

    #[track_caller]
    fn describes(&self, answer: &Value, route: &str, method: &str) {
        let why = self.differs(answer, self.answer_schema(route, method), 0);
        assert_eq!(why, None, "{route} answered {answer}");
    }
}

fn type_fits(value: &Value, wanted: &Value) -> bool {
    let fits = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => false,
    };
    match wanted {
        Value::String(name) => fits(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(fits),
        _ => true,
    }
}

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
    let required: [(&str, &[&str]); 6] = [
        (SEND, &["clientMsgId", "type", "content"]),
        (CREATE, &["type", "members"]),
        (MEMBERS, &["conversationId"]),
        (GET, &["conversationId", "msgIds"]),
        (SYNC, &["conversationId"]),
        (CONVERSATION, &["conversationId"]),
    ];
    for (route, fields) in required {
        let found = document.with_property(document.request_schema(route), fields[0], 0);
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
    ];
    for (route, body) in calls {
        let answer = ann.ok(route, body).await;
        document.describes(&answer, route, "post");
    }
    let admin = tenant.admin();
    document.describes(&admin.ok(RUN, json!({})).await, RUN, "post");
    for route in OPEN.into_iter().filter(|route| *route != OPENAPI).chain([STATUS]) {
        document.describes(&admin.get(route).await.ok(), route, "get");
    }
    // The checker itself finds faults.
    let schema = document.answer_schema(SEND, "post");
    assert!(document.differs(&json!({"msgId": 5}), schema, 0).is_some());
}
