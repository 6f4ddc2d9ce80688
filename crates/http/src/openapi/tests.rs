//! The OpenAPI document: complete, sound in itself, with the limits that requests are checked by,
//! and with examples that its own routes take.

use super::*;
use crate::json::{has_field, parse};
use im_domain::limits::{
    BATCH_MESSAGES_MAX, BATCH_PULLS_MAX, CLIENT_MSG_ID_CHARS_MAX, CONTENT_BYTES_MAX, DELETE_IDS_MAX,
    DIGEST_LATEST_MAX, EXPORT_CURSOR_CHARS_MAX, FEED_CURSOR_CHARS_MAX, GET_IDS_MAX, GLOBAL_CURSOR_CHARS_MAX,
    LEASE_ID_CHARS_MAX, LIST_CURSOR_CHARS_MAX, MUTED_MAX, NAME_CHARS_MAX, PAGE_ITEMS_MAX, PUSH_CONFIRM_MAX,
    REASON_CHARS_MAX, RUN_MS_MAX,
};
use serde::de::DeserializeOwned;

fn schema(name: &str) -> Value {
    document()["components"]["schemas"][name].clone()
}

/// Calls `visit` for every object in `value`.
fn walk(value: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        Value::Object(fields) => {
            visit(fields);
            fields.values().for_each(|field| walk(field, visit));
        }
        _ => {}
    }
}

#[test]
fn every_route_is_in_it_and_nothing_else() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["paths"].as_object().unwrap().len(), ROUTES.len());
    for route in &ROUTES {
        let operation = &document["paths"][route.path][route.method.to_lowercase()];
        assert!(operation["responses"]["200"]["content"][JSON]["schema"].is_object(), "{}", route.path);
        assert_eq!(operation["requestBody"].is_object(), route.method == "POST", "{}", route.path);
        assert_eq!(operation.get("security").is_some(), route.access == Access::Public);
        for code in route.problems() {
            let response = &operation["responses"][code.status().to_string()];
            assert!(response["description"].as_str().unwrap().contains(code.as_str()), "{}", route.path);
            assert_eq!(response["content"][PROBLEM_JSON]["schema"]["$ref"], "#/components/schemas/Problem");
        }
    }
}

#[test]
fn every_reference_resolves() {
    let document = document();
    let mut count = 0;
    walk(&document, &mut |fields| {
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            let pointer = reference.strip_prefix('#').expect(reference);
            assert!(document.pointer(pointer).is_some(), "{reference}");
            count += 1;
        }
    });
    assert!(count > 20, "{count}");
}

#[test]
fn no_name_means_two_things() {
    let mut schemas = Schemas::new();
    ROUTES.iter().for_each(|route| drop(operation(route, &mut schemas)));
    let requests = schemas.requests.take_definitions(true);
    for (name, answer) in schemas.answers.take_definitions(true) {
        if let Some(request) = requests.get(&name) {
            assert_eq!(request, &answer, "{name}");
        }
        assert!(!name.ends_with(char::is_numeric), "{name} stands for a second type of that name");
    }
}

#[test]
fn the_limits_are_those_of_the_code() {
    let at = |name: &str, pointer: &str| {
        let schema = schema(name);
        schema.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{name}{pointer}: {schema}"))
    };
    let limits = [
        ("Draft", "/properties/content/maxLength", CONTENT_BYTES_MAX),
        ("DraftBatch", "/properties/messages/maxItems", BATCH_MESSAGES_MAX),
        ("DraftBatch", "/properties/messages/minItems", 1),
        ("PullBatch", "/properties/requests/maxItems", BATCH_PULLS_MAX),
        ("Pull", "/properties/limit/maximum", PAGE_ITEMS_MAX as usize),
        ("Pull", "/properties/limit/minimum", 1),
        ("Sync", "/properties/limit/maximum", PAGE_ITEMS_MAX as usize),
        ("GetMessages", "/properties/msgIds/maxItems", GET_IDS_MAX),
        ("Edit", "/properties/content/maxLength", CONTENT_BYTES_MAX),
        ("Delete", "/properties/msgIds/maxItems", DELETE_IDS_MAX),
        ("Delete", "/properties/reason/maxLength", REASON_CHARS_MAX),
        ("SyncGlobal", "/properties/cursor/maxLength", GLOBAL_CURSOR_CHARS_MAX),
        ("SyncGlobal", "/properties/limit/maximum", PAGE_ITEMS_MAX as usize),
        ("SyncDigest", "/properties/cursor/maxLength", LIST_CURSOR_CHARS_MAX),
        ("SyncDigest", "/properties/limit/maximum", PAGE_ITEMS_MAX as usize),
        ("SyncDigest", "/properties/latest/maximum", DIGEST_LATEST_MAX as usize),
        ("ChangePushSettings", "/properties/muted/maxItems", MUTED_MAX),
        ("TakePushDue", "/properties/limit/maximum", PAGE_ITEMS_MAX as usize),
        ("TakePushDue", "/properties/confirm/maxItems", PUSH_CONFIRM_MAX),
        ("LeaseId", "/maxLength", LEASE_ID_CHARS_MAX),
        ("ReadFeed", "/properties/cursor/maxLength", FEED_CURSOR_CHARS_MAX),
        ("ReadFeed", "/properties/limit/maximum", PAGE_ITEMS_MAX as usize),
        ("ExportUser", "/properties/cursor/maxLength", EXPORT_CURSOR_CHARS_MAX),
        ("ExportUser", "/properties/limit/maximum", PAGE_ITEMS_MAX as usize),
        ("RunUpkeep", "/properties/maxMs/maximum", RUN_MS_MAX as usize),
        ("UserId", "/maxLength", NAME_CHARS_MAX),
        ("ClientMsgId", "/maxLength", CLIENT_MSG_ID_CHARS_MAX),
    ];
    for (name, pointer, limit) in limits {
        assert_eq!(at(name, pointer), limit as u64, "{name}{pointer}");
    }
}

#[test]
fn requests_refuse_unknown_fields_and_answers_say_what_is_always_there() {
    let requests = [
        "Draft",
        "DraftBatch",
        "Pull",
        "PullBatch",
        "CreateConversation",
        "Recall",
        "Edit",
        "Delete",
        "GetVersions",
        "UpdateConversation",
        "Sync",
        "SyncGlobal",
        "SyncDigest",
        "MarkRead",
        "CountUnread",
        "ListDevices",
        "ChangePushSettings",
        "TakePushDue",
        "ReadFeed",
        "ExportUser",
        "EraseUser",
        "RunUpkeep",
    ];
    for name in requests {
        assert_eq!(schema(name)["additionalProperties"], false, "{name}");
    }
    let required = |name: &str| schema(name)["required"].as_array().unwrap().clone();
    assert_eq!(required("Draft"), ["clientMsgId", "type", "content"]);
    for name in ["conversationId", "messages", "hasMore", "cursor", "epoch", "headSeq", "position"] {
        assert!(required("SyncPage").contains(&json!(name)), "{name}");
    }
    assert!(!required("SyncPage").contains(&json!("reset")));
    assert!(required("Conversation").contains(&json!("lastMsg")));
    assert_eq!(
        required("ChangedConversation"),
        ["conversationId", "headMsgId", "headSeq", "unread", "readMsgId", "kinds"]
    );
    assert_eq!(required("Changes"), ["cursor", "changed", "hasMore"]);
    for name in ["conversationId", "lastMsg", "muted", "latest"] {
        assert!(required("DigestedConversation").contains(&json!(name)), "{name}");
    }
    assert_eq!(required("ExportUser"), ["userId"]);
    assert_eq!(required("Export"), ["userId", "memberships", "messages", "cursor", "hasMore"]);
    assert_eq!(required("Membership"), ["conversationId", "positions", "hiddenMsgIds"]);
    assert_eq!(required("Erased"), ["messages", "held", "cursor", "hasMore"]);
    assert_eq!(required("Feed"), ["events", "cursor", "hasMore"]);
    assert_eq!(required("FeedEvent"), ["eventId", "kind", "conversationId", "message"]);
    assert!(!required("DueUser").contains(&json!("preview")));
}

fn reads<T: DeserializeOwned>(text: &str) -> bool {
    parse::<T>(text.as_bytes()).is_ok()
}

#[test]
fn the_examples_can_be_sent() {
    for route in ROUTES.iter().filter(|route| route.method == "POST") {
        let examples = examples::of(route.op);
        assert!(!examples.as_object().unwrap().is_empty(), "{}", route.path);
        for example in examples.as_object().unwrap().values() {
            let text = example["value"].to_string();
            let body = text.as_bytes();
            let good =
                match route.op {
                    Op::SendMessages if has_field(body, "messages") => parse::<BatchIn<'_>>(body)
                        .is_ok_and(|b| b.messages.0.iter().all(|m| m.read("").is_ok())),
                    Op::SendMessages => parse::<DraftIn<'_>>(body).is_ok(),
                    Op::PullMessages if has_field(body, "requests") => parse::<PullsIn<'_>>(body)
                        .is_ok_and(|b| b.requests.0.iter().all(|r| r.read("").is_ok())),
                    Op::PullMessages => reads::<PullIn>(&text),
                    Op::CreateConversation => reads::<CreateIn>(&text),
                    Op::ChangeMembers => reads::<MembersIn>(&text),
                    Op::GetMessages => reads::<GetIn>(&text),
                    Op::ReadAround => reads::<AroundIn>(&text),
                    Op::GetConversation => reads::<GetConversationIn>(&text),
                    Op::ListConversations => reads::<ListIn>(&text),
                    Op::SyncMessages => reads::<SyncIn>(&text),
                    Op::RecallMessage => reads::<RecallIn>(&text),
                    Op::EditMessage => reads::<EditIn>(&text),
                    Op::DeleteMessages => reads::<DeleteIn>(&text),
                    Op::MessageVersions => reads::<VersionsIn>(&text),
                    Op::UpdateConversation => reads::<UpdateIn>(&text),
                    Op::SyncGlobal => reads::<GlobalIn>(&text),
                    Op::SyncDigest => reads::<DigestIn>(&text),
                    Op::MarkRead => reads::<ReadIn>(&text),
                    Op::CountUnread => reads::<OfflineIn>(&text),
                    Op::ListDevices => reads::<DevicesIn>(&text),
                    Op::PushSettings => reads::<SettingsIn>(&text),
                    Op::PushDue => reads::<DueIn>(&text),
                    Op::ReadFeed => reads::<FeedIn>(&text),
                    Op::ExportUser => reads::<ExportIn>(&text),
                    Op::EraseUser => reads::<EraseIn>(&text),
                    Op::DeadLetters => reads::<DeadLettersIn>(&text),
                    _ => reads::<RunIn>(&text),
                };
            assert!(good, "{}: {text}", route.path);
        }
    }
}
