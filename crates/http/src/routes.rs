//! The one table of routes: dispatch, 404 and 405, access checks and the OpenAPI document all read
//! it.

use crate::problem::Code;

/// The component that answers a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    Send,
    Pull,
    Sync,
    Archive,
}

impl Component {
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Pull => "pull",
            Self::Sync => "sync",
            Self::Archive => "archive",
        }
    }
}

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody, without a token.
    Public,
    /// Whoever has a token; what they may do there is the store's decision.
    Token,
    /// Tokens with the scope `service` or `admin`.
    Operator,
    /// Tokens with the scope `admin`.
    Admin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    SendMessages,
    RecallMessage,
    EditMessage,
    DeleteMessages,
    CreateConversation,
    ChangeMembers,
    UpdateConversation,
    PullMessages,
    GetMessages,
    MessageVersions,
    ReadAround,
    GetConversation,
    ListConversations,
    SyncMessages,
    SyncGlobal,
    SyncDigest,
    MarkRead,
    CountUnread,
    ListDevices,
    PushSettings,
    PushDue,
    RunUpkeep,
    StoreStatus,
    DeadLetters,
    Health,
    Ready,
    OpenApi,
}

#[derive(Debug)]
pub struct Route {
    pub op: Op,
    pub component: Component,
    pub method: &'static str,
    pub path: &'static str,
    pub access: Access,
    pub summary: &'static str,
    /// Problems beside those that any route of its access can answer.
    pub codes: &'static [Code],
}

const POST: &str = "POST";
const GET: &str = "GET";

const fn post(op: Op, component: Component, path: &'static str, summary: &'static str) -> Route {
    Route { op, component, method: POST, path, access: Access::Token, summary, codes: &[] }
}

const fn get(op: Op, component: Component, path: &'static str, summary: &'static str) -> Route {
    Route { op, component, method: GET, path, access: Access::Public, summary, codes: &[] }
}

impl Route {
    const fn operator(self) -> Self {
        Self { access: Access::Operator, ..self }
    }

    const fn admin(self) -> Self {
        Self { access: Access::Admin, ..self }
    }

    const fn codes(self, codes: &'static [Code]) -> Self {
        Self { codes, ..self }
    }

    /// Every code this route can answer with.
    pub fn problems(&self) -> Vec<Code> {
        let mut codes = self.codes.to_vec();
        if self.method == POST {
            codes.extend([Code::InvalidRequest, Code::TooLarge]);
        }
        if self.access != Access::Public {
            codes.extend([Code::Unauthenticated, Code::Forbidden, Code::RateLimited]);
        }
        if self.access != Access::Public || self.op == Op::Ready {
            codes.extend([Code::Overloaded, Code::HotUnavailable, Code::SqlUnavailable]);
        }
        codes.push(Code::Internal);
        codes
    }
}

const IN_CONVERSATION: &[Code] = &[Code::NotMember, Code::ConversationNotFound];
const IN_MESSAGE: &[Code] = &[Code::NotMember, Code::ConversationNotFound, Code::MessageNotFound];
/// To send, and to revise what was sent.
const WRITE: &[Code] = &[Code::NotMember, Code::ConversationNotFound, Code::MessageNotFound, Code::Conflict];

pub static ROUTES: [Route; 27] = [
    post(
        Op::SendMessages,
        Component::Send,
        "/api/msg/send",
        "Sends one message, or up to 100, each stored or refused on its own",
    )
    .codes(WRITE),
    post(
        Op::RecallMessage,
        Component::Send,
        "/api/msg/recall",
        "Takes a message back: its place stays, without what was said",
    )
    .codes(WRITE),
    post(
        Op::EditMessage,
        Component::Send,
        "/api/msg/edit",
        "Gives a message of the user another content; what it said before is kept for audit",
    )
    .codes(WRITE),
    post(
        Op::DeleteMessages,
        Component::Send,
        "/api/msg/delete",
        "Deletes up to 100 messages, each on its own: for all, where their places stay without what was said, or from the \
         user alone",
    )
    .codes(WRITE),
    post(
        Op::CreateConversation,
        Component::Send,
        "/api/conversation/create",
        "Makes a conversation; again with the same id and type, the same answer",
    )
    .codes(&[Code::NotMember, Code::Conflict]),
    post(
        Op::ChangeMembers,
        Component::Send,
        "/api/conversation/members",
        "Adds and removes members and sets their roles, all of it or nothing",
    )
    .codes(IN_CONVERSATION),
    post(
        Op::UpdateConversation,
        Component::Send,
        "/api/conversation/update",
        "Changes settings of a conversation or the user's own in it, all of it or nothing",
    )
    .codes(IN_CONVERSATION),
    post(
        Op::PullMessages,
        Component::Pull,
        "/api/msg/pull",
        "A page of a conversation's history, or of up to 50 conversations",
    )
    .codes(IN_CONVERSATION),
    post(Op::GetMessages, Component::Pull, "/api/msg/get", "Up to 100 messages of a conversation by id")
        .codes(IN_CONVERSATION),
    post(
        Op::MessageVersions,
        Component::Pull,
        "/api/msg/versions",
        "What a message was, oldest first; that it was asked is noted for audit",
    )
    .admin()
    .codes(&[Code::ConversationNotFound, Code::MessageNotFound]),
    post(
        Op::ReadAround,
        Component::Pull,
        "/api/msg/around",
        "A message with up to 100 older and 100 newer ones, oldest first",
    )
    .codes(IN_MESSAGE),
    post(Op::GetConversation, Component::Pull, "/api/conversation/get", "One conversation")
        .codes(IN_CONVERSATION),
    post(
        Op::ListConversations,
        Component::Pull,
        "/api/conversation/list",
        "The user's conversations, newest first",
    ),
    post(
        Op::SyncMessages,
        Component::Sync,
        "/api/msg/sync",
        "What a device does not have yet of a conversation; confirms what it has stored",
    )
    .codes(IN_CONVERSATION),
    post(
        Op::SyncGlobal,
        Component::Sync,
        "/api/sync/global",
        "The conversations in which something has changed since the cursor, and what",
    ),
    post(
        Op::SyncDigest,
        Component::Sync,
        "/api/sync/digest",
        "The user's conversations, newest first, with the newest messages of each",
    ),
    post(
        Op::MarkRead,
        Component::Sync,
        "/api/sync/read",
        "The user has read a conversation up to a message; never back",
    )
    .codes(IN_MESSAGE),
    post(Op::CountUnread, Component::Sync, "/api/sync/offline", "How much the user has not read"),
    post(Op::ListDevices, Component::Sync, "/api/sync/devices", "The user's devices; forgets one"),
    post(
        Op::PushSettings,
        Component::Sync,
        "/api/push/settings",
        "What of a user's messages may be pushed; changes what is named",
    ),
    post(
        Op::PushDue,
        Component::Sync,
        "/api/push/due",
        "The users of the tenant who have to be woken, each leased to the caller; ends leases",
    )
    .operator(),
    post(Op::RunUpkeep, Component::Archive, "/api/archive/run", "Runs the store's upkeep for a bounded time")
        .operator(),
    get(Op::StoreStatus, Component::Archive, "/api/archive/status", "The state of the store").operator(),
    post(
        Op::DeadLetters,
        Component::Archive,
        "/api/archive/dead-letters",
        "Shows what SQL could not take and was set aside, puts it back, or drops it",
    )
    .operator(),
    get(Op::Health, Component::Archive, "/api/health", "Whether the service runs"),
    get(Op::Ready, Component::Archive, "/api/ready", "Whether the service can serve"),
    get(Op::OpenApi, Component::Archive, "/api/openapi.json", "This document"),
];
