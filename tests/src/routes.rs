//! The routes of the contract: those that work by now, and those that come later.

use serde_json::{Value, json};

pub const SEND: &str = "/api/msg/send";
pub const RECALL: &str = "/api/msg/recall";
pub const EDIT: &str = "/api/msg/edit";
pub const DELETE: &str = "/api/msg/delete";
pub const PULL: &str = "/api/msg/pull";
pub const GET: &str = "/api/msg/get";
pub const VERSIONS: &str = "/api/msg/versions";
pub const AROUND: &str = "/api/msg/around";
pub const SYNC: &str = "/api/msg/sync";
pub const CREATE: &str = "/api/conversation/create";
pub const MEMBERS: &str = "/api/conversation/members";
pub const UPDATE: &str = "/api/conversation/update";
pub const CONVERSATION: &str = "/api/conversation/get";
pub const LIST: &str = "/api/conversation/list";
pub const GLOBAL: &str = "/api/sync/global";
pub const DIGEST: &str = "/api/sync/digest";
pub const READ: &str = "/api/sync/read";
pub const OFFLINE: &str = "/api/sync/offline";
pub const DEVICES: &str = "/api/sync/devices";
pub const PUSH_SETTINGS: &str = "/api/push/settings";
pub const PUSH_DUE: &str = "/api/push/due";
pub const CHANGES: &str = "/api/changes";
pub const EXPORT: &str = "/api/archive/export";
pub const ERASE: &str = "/api/archive/erase";
pub const RUN: &str = "/api/archive/run";
pub const STATUS: &str = "/api/archive/status";
pub const DEAD_LETTERS: &str = "/api/archive/dead-letters";
pub const HEALTH: &str = "/api/health";
pub const READY: &str = "/api/ready";
pub const OPENAPI: &str = "/api/openapi.json";

/// Answer to POST, with a token.
pub const POSTS: [&str; 26] = [
    SEND,
    RECALL,
    EDIT,
    DELETE,
    PULL,
    GET,
    VERSIONS,
    AROUND,
    SYNC,
    CREATE,
    MEMBERS,
    UPDATE,
    CONVERSATION,
    LIST,
    GLOBAL,
    DIGEST,
    READ,
    OFFLINE,
    DEVICES,
    PUSH_SETTINGS,
    PUSH_DUE,
    CHANGES,
    EXPORT,
    ERASE,
    RUN,
    DEAD_LETTERS,
];
/// Of those, the ones that only operators may call, [`VERSIONS`], [`EXPORT`] and [`ERASE`] administrators alone.
pub const OF_OPERATORS: [&str; 7] = [RUN, DEAD_LETTERS, PUSH_DUE, CHANGES, VERSIONS, EXPORT, ERASE];
/// Answer to GET, without a token.
pub const OPEN: [&str; 3] = [HEALTH, READY, OPENAPI];
/// Answer to POST and are about one conversation, of which the caller must be a member. [`DELETE`] is as well, and
/// says so of each message.
pub const OF_A_CONVERSATION: [&str; 11] =
    [SEND, RECALL, EDIT, PULL, GET, AROUND, SYNC, MEMBERS, CONVERSATION, READ, UPDATE];
/// Answer to POST and need nothing to be named: no body is an empty object to them.
pub const NEED_NOTHING: [&str; 10] =
    [LIST, GLOBAL, DIGEST, OFFLINE, DEVICES, PUSH_SETTINGS, PUSH_DUE, CHANGES, RUN, DEAD_LETTERS];

/// Routes of later versions: unknown until they work.
pub const LATER: [&str; 3] = ["/api/archive/metrics", "/api/archive/verify", "/api/archive/import"];

/// A body that `route` takes from a member of `conversation` with a device (from an administrator,
/// for those of operators).
pub fn good_body(route: &str, conversation: &str) -> Value {
    match route {
        SEND => json!({
            "conversationId": conversation, "clientMsgId": "good", "type": "text", "content": "good",
        }),
        GET => json!({"conversationId": conversation, "msgIds": ["1"]}),
        CREATE => json!({"type": "group", "members": ["somebody"]}),
        MEMBERS => json!({"conversationId": conversation, "add": ["somebody"]}),
        PULL | SYNC | CONVERSATION => json!({"conversationId": conversation}),
        UPDATE => json!({"conversationId": conversation, "muted": true}),
        READ | RECALL | VERSIONS | AROUND => json!({"conversationId": conversation, "msgId": "1"}),
        EXPORT | ERASE => json!({"userId": "somebody"}),
        EDIT => json!({"conversationId": conversation, "msgId": "1", "content": "good"}),
        DELETE => json!({"conversationId": conversation, "msgIds": ["1"], "scope": "all"}),
        _ if NEED_NOTHING.contains(&route) => json!({}),
        _ => panic!("{route} takes no body"),
    }
}
