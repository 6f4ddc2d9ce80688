//! The shapes of the contract: which fields an answer has, and of which JSON type. Fields beyond
//! these are allowed; a field that is optional is absent, never null, when there is nothing to say.

use serde_json::Value;

/// Largest integer that every double below it represents exactly.
const DOUBLE_EXACT_MAX: u64 = 1 << 53;

/// The codes of problem documents, each with its HTTP status.
pub const CODES: [(&str, u64); 15] = [
    ("invalid_request", 400),
    ("unauthenticated", 401),
    ("forbidden", 403),
    ("not_member", 403),
    ("not_found", 404),
    ("conversation_not_found", 404),
    ("message_not_found", 404),
    ("method_not_allowed", 405),
    ("conflict", 409),
    ("too_large", 413),
    ("rate_limited", 429),
    ("overloaded", 503),
    ("hot_unavailable", 503),
    ("sql_unavailable", 503),
    ("internal", 500),
];

pub const MESSAGE_TYPES: [&str; 8] =
    ["text", "image", "voice", "video", "file", "system", "recall", "custom"];

/// The number in an id: a decimal string.
#[track_caller]
pub fn id(value: &Value, field: &str) -> u64 {
    let text = text(value, field);
    let number = text.parse().unwrap_or_else(|_| panic!("{field} {text:?} is no decimal id"));
    assert_eq!(u64::to_string(&number), text, "{field} is spelled as numbers are");
    assert!(i64::try_from(number).is_ok(), "{field} {number} has at most 63 bits");
    number
}

#[track_caller]
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    let found = value[field].as_str();
    found.unwrap_or_else(|| panic!("`{field}` is no string in {value}"))
}

#[track_caller]
pub fn int(value: &Value, field: &str) -> u64 {
    let found = value[field].as_u64();
    found.unwrap_or_else(|| panic!("`{field}` is no whole number in {value}"))
}

#[track_caller]
pub fn flag(value: &Value, field: &str) -> bool {
    let found = value[field].as_bool();
    found.unwrap_or_else(|| panic!("`{field}` is no boolean in {value}"))
}

#[track_caller]
pub fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    let found = value[field].as_array();
    found.unwrap_or_else(|| panic!("`{field}` is no array in {value}"))
}

#[track_caller]
fn one_of(value: &Value, field: &str, allowed: &[&str]) {
    let found = text(value, field);
    assert!(allowed.contains(&found), "`{field}` {found:?} is none of {allowed:?}");
}

#[track_caller]
fn no_nulls(value: &Value, but: &[&str]) {
    for (name, field) in value.as_object().expect("an object") {
        let known = but.contains(&name.as_str());
        assert!(known || !field.is_null(), "`{name}` is null, not absent, in {value}");
    }
}

/// Checks a problem document and gives its status.
#[track_caller]
pub fn problem(value: &Value, place: &str) -> u64 {
    for field in ["type", "title", "code", "detail"] {
        let text = value[field].as_str().unwrap_or_default();
        assert!(!text.is_empty(), "{place}: problem without `{field}`: {value}");
    }
    let status = int(value, "status");
    assert!(
        CODES.contains(&(text(value, "code"), status)),
        "{place}: the code and the status do not belong together: {value}"
    );
    no_nulls(value, &[]);
    status
}

#[track_caller]
pub fn receipt(value: &Value) {
    id(value, "msgId");
    assert!(int(value, "seq") > 0);
    assert!(!text(value, "conversationId").is_empty());
    int(value, "createTime");
    assert!(!text(value, "epoch").is_empty());
    flag(value, "duplicate");
    one_of(value, "ack", &["accepted", "persisted"]);
    no_nulls(value, &[]);
}

#[track_caller]
pub fn revised(value: &Value) {
    let msg_id = id(value, "msgId");
    assert!(id(value, "controlMsgId") > msg_id, "it is told of after it was said: {value}");
    assert!(int(value, "seq") > 1);
    no_nulls(value, &[]);
}

/// The versions of a message.
#[track_caller]
pub fn versions(value: &Value) -> &[Value] {
    let versions = list(value, "versions");
    for (n, version) in versions.iter().enumerate() {
        text(version, "content");
        int(version, "editTime");
        assert!(!text(version, "by").is_empty());
        let actions: &[&str] = if n == 0 { &["send"] } else { &["edit", "recall", "delete"] };
        one_of(version, "action", actions);
        assert_eq!(version.get("role").is_some(), n > 0, "`role` is of who revised: {version}");
        no_nulls(version, &[]);
    }
    versions
}

#[track_caller]
pub fn message(value: &Value) {
    assert!(id(value, "msgId") > 0);
    assert!(int(value, "seq") > 0);
    for field in ["conversationId", "senderId", "clientMsgId"] {
        assert!(!text(value, field).is_empty(), "`{field}` is empty in {value}");
    }
    one_of(value, "type", &MESSAGE_TYPES);
    one_of(value, "status", &["normal", "recalled", "deleted"]);
    text(value, "content");
    int(value, "createTime");
    no_nulls(value, &[]);
    if let Some(quote) = value.get("replyTo") {
        id(quote, "msgId");
        one_of(quote, "status", &["normal", "recalled", "deleted", "expired"]);
        no_nulls(quote, &[]);
    }
    assert!(value.get("ext").is_none_or(Value::is_object), "`ext` is no object in {value}");
    assert_eq!(
        value.get("ref").is_some(),
        value["type"] == "recall",
        "`ref` is of control messages: {value}"
    );
    if let Some(control) = value.get("ref") {
        assert!(id(control, "msgId") < id(value, "msgId"));
        one_of(control, "action", &["recall", "edit", "delete"]);
    }
    if let Some(time) = value.get("editTime") {
        assert!(time.as_u64() >= value["createTime"].as_u64(), "edited before it was sent: {value}");
    }
    if value["status"] != "normal" {
        assert_eq!(value["content"], "", "nothing but its place is left of {value}");
        assert_eq!(value.get("editTime"), None, "nothing but its place is left of {value}");
    }
}

#[track_caller]
pub fn page(value: &Value) {
    assert!(!text(value, "conversationId").is_empty());
    list(value, "messages").iter().for_each(message);
    flag(value, "hasMore");
    id(value, "cursor");
    assert!(!text(value, "epoch").is_empty());
    int(value, "headSeq");
    no_nulls(value, &[]);
    if let Some(reset) = value.get("reset") {
        one_of(reset, "reason", &["epoch_changed", "position_ahead", "expired"]);
        id(reset, "oldestMsgId");
    }
}

#[track_caller]
pub fn conversation(value: &Value) {
    assert!(!text(value, "conversationId").is_empty());
    one_of(value, "type", &["single", "group", "system"]);
    for field in ["memberCount", "headSeq", "unread", "createTime", "updateTime"] {
        int(value, field);
    }
    id(value, "readMsgId");
    assert!(!text(value, "epoch").is_empty());
    flag(value, "muted");
    if value.get("retentionMs").is_some() {
        int(value, "retentionMs");
    }
    if value.get("legalHold").is_some() {
        flag(value, "legalHold");
    }
    no_nulls(value, &["lastMsg"]);
    let last = value.get("lastMsg").expect("`lastMsg` is null, not absent, with no message");
    if !last.is_null() {
        id(last, "msgId");
        int(last, "seq");
        int(last, "createTime");
        text(last, "senderId");
        text(last, "summary");
        one_of(last, "type", &MESSAGE_TYPES);
        one_of(last, "status", &["normal", "recalled", "deleted"]);
    }
}

/// Every number outside clients' own `ext` is read by JavaScript without loss.
pub fn numbers_fit_doubles(value: &Value, place: &str) {
    match value {
        Value::Number(number) => {
            let whole = number.as_i64().map(i64::unsigned_abs).or(number.as_u64());
            let fits = whole.is_none_or(|n| n <= DOUBLE_EXACT_MAX);
            assert!(fits, "{place}: {number} does not survive a parse through doubles");
        }
        Value::Array(items) => items.iter().for_each(|item| numbers_fit_doubles(item, place)),
        Value::Object(fields) => {
            let own = fields.iter().filter(|(name, _)| *name != "ext");
            own.for_each(|(_, field)| numbers_fit_doubles(field, place));
        }
        _ => {}
    }
}
