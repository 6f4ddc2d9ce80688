//! Reading an OpenAPI document: following references, finding limits, and holding real answers
//! against the schemas that describe them.

use crate::client::Client;
use crate::routes::OPENAPI;
use serde_json::Value;

/// Deepest nesting of schemas that is followed.
const DEPTH_MAX: usize = 24;

/// A served document.
pub struct Document(pub Value);

impl Document {
    pub async fn fetch(client: &Client) -> Self {
        Self(client.get(OPENAPI).await.ok())
    }

    pub fn operation(&self, route: &str, method: &str) -> &Value {
        let found = &self.0["paths"][route][method];
        assert!(found.is_object(), "{method} {route} is not described");
        found
    }

    /// Follows references.
    pub fn resolve<'a>(&'a self, mut node: &'a Value) -> &'a Value {
        for _ in 0..DEPTH_MAX {
            let Some(reference) = node["$ref"].as_str() else { return node };
            let pointer = reference.strip_prefix('#').expect("a reference within the document");
            node = self.0.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"));
        }
        panic!("references in a circle: {node}");
    }

    pub fn request_schema(&self, route: &str) -> &Value {
        let body = self.resolve(&self.operation(route, "post")["requestBody"]);
        let schema = &body["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{route}: no schema of the request");
        schema
    }

    pub fn answer_schema(&self, route: &str, method: &str) -> &Value {
        let answer = self.resolve(&self.operation(route, method)["responses"]["200"]);
        let schema = &answer["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{route}: no schema of the answer");
        schema
    }

    /// All schemas below `schema` that describe an object with this property, each with the
    /// property's own schema.
    pub fn with_property<'a>(&'a self, schema: &'a Value, name: &str) -> Vec<(&'a Value, &'a Value)> {
        self.search(schema, name, 0)
    }

    fn search<'a>(&'a self, schema: &'a Value, name: &str, depth: usize) -> Vec<(&'a Value, &'a Value)> {
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
            found.extend(self.search(part, name, depth + 1));
        }
        found
    }

    /// Whether some schema of the property `name` in requests to `route` sets `keyword` to `value`;
    /// a nullable one may say it in one of its parts.
    pub fn limits(&self, route: &str, name: &str, keyword: &str, value: u64) -> bool {
        let says = |schema: &Value| schema[keyword] == value;
        self.with_property(self.request_schema(route), name).into_iter().any(|(_, property)| {
            let parts = ["oneOf", "anyOf", "allOf"].into_iter();
            let mut parts = parts.flat_map(|part| property[part].as_array().into_iter().flatten());
            says(property) || parts.any(|part| says(self.resolve(part)))
        })
    }

    /// Why `value` is not what `schema` describes; covers the keywords that matter for answers.
    pub fn differs(&self, value: &Value, schema: &Value) -> Option<String> {
        self.compare(value, schema, 0)
    }

    fn compare(&self, value: &Value, schema: &Value, depth: usize) -> Option<String> {
        let schema = self.resolve(schema);
        if depth == DEPTH_MAX {
            return None;
        }
        for choice in ["oneOf", "anyOf"] {
            let Some(parts) = schema[choice].as_array() else { continue };
            if parts.iter().all(|part| self.compare(value, part, depth + 1).is_some()) {
                return Some(format!("{value} is none of {choice} {parts:?}"));
            }
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            if let Some(why) = self.compare(value, part, depth + 1) {
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
                if let Some(why) = self.compare(field, property, depth + 1) {
                    return Some(format!("{name}: {why}"));
                }
            }
        }
        let items = value.as_array().into_iter().flatten();
        let items = items.filter(|_| schema["items"].is_object());
        items.into_iter().find_map(|item| self.compare(item, &schema["items"], depth + 1))
    }

    #[track_caller]
    pub fn describes(&self, answer: &Value, route: &str, method: &str) {
        let why = self.differs(answer, self.answer_schema(route, method));
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
