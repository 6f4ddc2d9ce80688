//! Requests to try, by route. A test holds each against the type its route reads.

use crate::routes::Op;
use serde_json::{Value, json};

pub fn of(op: Op) -> Value {
    match op {
        Op::SendMessages => json!({ "one": { "value": one() }, "several": { "value": several() } }),
        Op::PullMessages => json!({ "newest": { "value": newest() }, "several": { "value": pulls() } }),
        Op::CreateConversation => example(json!({
            "conversationId": "team", "type": "group", "members": ["alice", "bob"],
        })),
        Op::ChangeMembers => example(json!({
            "conversationId": "team", "add": ["carol"], "roles": { "bob": "admin" },
        })),
        Op::RecallMessage => {
            example(json!({ "conversationId": "team", "msgId": "7013", "reason": "sent to the wrong chat" }))
        }
        Op::EditMessage => {
            example(json!({ "conversationId": "team", "msgId": "7013", "content": "Hello, all!" }))
        }
        Op::DeleteMessages => {
            example(json!({ "conversationId": "team", "msgIds": ["7013", "7014"], "scope": "all" }))
        }
        Op::MessageVersions => example(json!({ "conversationId": "team", "msgId": "7013" })),
        Op::UpdateConversation => example(json!({ "conversationId": "team", "muted": true })),
        Op::GetMessages => example(json!({ "conversationId": "team", "msgIds": ["232792839553204224"] })),
        Op::ReadAround => example(json!({
            "conversationId": "team", "msgId": "232792839553204224", "before": 10, "after": 10,
        })),
        Op::GetConversation => example(json!({ "conversationId": "team" })),
        Op::ListConversations => example(json!({ "limit": 20 })),
        Op::SyncMessages => {
            example(json!({ "conversationId": "team", "lastMsgId": "232792839553204224", "limit": 100 }))
        }
        Op::SyncGlobal => example(json!({ "cursor": "", "limit": 100 })),
        Op::SyncDigest => example(json!({ "limit": 50, "latest": 1 })),
        Op::MarkRead => example(json!({ "conversationId": "team", "msgId": "232792839553204224" })),
        Op::CountUnread => example(json!({})),
        Op::ListDevices => example(json!({ "forget": "lost-phone" })),
        Op::PushSettings => example(json!({ "showContent": false, "muted": ["team"] })),
        Op::PushDue => example(json!({ "limit": 100, "confirm": [] })),
        Op::ReadFeed => example(json!({ "cursor": "", "limit": 100 })),
        Op::ExportUser => example(json!({ "userId": "alice", "cursor": "", "limit": 100 })),
        Op::EraseUser => example(json!({ "userId": "alice", "cursor": "" })),
        Op::RunUpkeep => example(json!({ "tasks": ["expire"], "maxMs": 5_000 })),
        Op::DeadLetters => example(json!({ "action": "show", "limit": 20 })),
        Op::StoreStatus | Op::Health | Op::Ready | Op::OpenApi => json!({}),
    }
}

fn example(value: Value) -> Value {
    json!({ "example": { "value": value } })
}

fn one() -> Value {
    json!({
        "conversationId": "team",
        "clientMsgId": "0199c2a5-7b1e-7cc0-a1c6-3f1f0c1d9a10",
        "type": "text",
        "content": "Hello!",
    })
}

fn several() -> Value {
    json!({
        "ack": "persisted",
        "messages": [
            { "toUserId": "bob", "clientMsgId": "1", "type": "text", "content": "Hello!" },
            { "toUserId": "bob", "clientMsgId": "2", "type": "custom", "content": "{\"move\":\"e4\"}" },
        ],
    })
}

fn newest() -> Value {
    json!({ "conversationId": "team", "limit": 20, "direction": "up" })
}

fn pulls() -> Value {
    json!({ "requests": [
        { "conversationId": "team" },
        { "conversationId": "friends", "lastMsgId": "0", "direction": "down", "types": ["text"] },
    ] })
}
