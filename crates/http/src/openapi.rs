//! The OpenAPI 3.1 document, made from the route table and from the very types that requests are
//! read into and answers are written from, limits included.

mod examples;

use crate::batch::Results;
use crate::exchange::JSON;
use crate::json::conversation::{
    ConversationOut, CreateIn, GetConversationIn, ListIn, ListOut, MembersIn, UpdateIn,
};
use crate::json::dead_letters::{DeadLettersIn, DeadLettersOut};
use crate::json::device::{DevicesIn, DevicesOut, OfflineIn, OfflineOut, ReadIn, ReadOut};
use crate::json::digest::{DigestIn, DigestOut};
use crate::json::draft::{BatchIn, DraftIn};
use crate::json::export::{EraseIn, EraseOut, ExportIn, ExportOut};
use crate::json::feed::{FeedIn, FeedOut};
use crate::json::global::{ChangesOut, GlobalIn};
use crate::json::message::ReceiptOut;
use crate::json::page::{AroundIn, AroundOut, FoundOut, GetIn, PageOut, PullIn, PullsIn};
use crate::json::push::{DueIn, DueOut, SettingsIn, SettingsOut};
use crate::json::revision::{DeleteIn, EditIn, RecallIn, RevisedOut};
use crate::json::sync::{SyncIn, SyncOut};
use crate::json::upkeep::{HealthOut, RunIn, RunOut, StatusOut};
use crate::json::version::{VersionsIn, VersionsOut};
use crate::problem::{PROBLEM_JSON, Problem};
use crate::routes::{Access, Op, ROUTES, Route};
use schemars::generate::{Contract, SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::OnceLock;

const DESCRIPTION: &str = "Stores, serves and syncs instant messages. Ids of messages are decimal \
    strings, in requests also integers; times are milliseconds since 1970 UTC. Errors are problem \
    documents (RFC 9457) whose `code` is stable.";
const SCHEMAS: &str = "/components/schemas";

/// The document as JSON text; made once per instance.
pub fn text() -> Result<Vec<u8>, Problem> {
    static TEXT: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(text) = TEXT.get() {
        return Ok(text.clone());
    }
    let text = serde_json::to_vec(&document())
        .map_err(|error| Problem::internal(&format!("the OpenAPI document: {error}")))?;
    Ok(TEXT.get_or_init(|| text).clone())
}

pub fn document() -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for route in &ROUTES {
        let operation = json!({ route.method.to_lowercase(): operation(route, &mut schemas) });
        paths.insert(route.path.to_owned(), operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Message store for instant messaging",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas.finish(),
            "securitySchemes": { "bearer": bearer() },
        },
    })
}

fn bearer() -> Value {
    json!({
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "HS256 or EdDSA; claims tenant, sub (the user), exp, and possibly dev (the \
            device), scope (user, service, admin), nbf.",
    })
}

fn operation(route: &Route, schemas: &mut Schemas) -> Value {
    let (request, answer) = bodies(route.op, schemas);
    let mut operation = Map::new();
    operation.insert("operationId".into(), format!("{:?}", route.op).into());
    operation.insert("summary".into(), route.summary.into());
    operation.insert("tags".into(), json!([route.component.name()]));
    match route.access {
        Access::Public => operation.insert("security".into(), json!([])),
        Access::Token => None,
        Access::Operator => {
            operation.insert("description".into(), "Needs a token with scope service or admin.".into())
        }
        Access::Admin => operation.insert("description".into(), "Needs a token with scope admin.".into()),
    };
    if let Some(schema) = request {
        let content = json!({ "schema": schema, "examples": examples::of(route.op) });
        operation.insert("requestBody".into(), json!({ "required": true, "content": { JSON: content } }));
    }
    operation.insert("responses".into(), responses(route, answer, schemas));
    operation.into()
}

fn responses(route: &Route, answer: Schema, schemas: &mut Schemas) -> Value {
    let mut responses = Map::new();
    let content = json!({ JSON: { "schema": answer } });
    responses.insert("200".into(), json!({ "description": "Done", "content": content }));
    let mut by_status: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in route.problems() {
        by_status.entry(code.status()).or_default().push(code.as_str());
    }
    for (status, codes) in by_status {
        let content = json!({ PROBLEM_JSON: { "schema": schemas.answer::<Problem>() } });
        let response = json!({ "description": codes.join(", "), "content": content });
        responses.insert(status.to_string(), response);
    }
    responses.into()
}

/// What a route reads and writes.
fn bodies(op: Op, s: &mut Schemas) -> (Option<Schema>, Schema) {
    match op {
        Op::SendMessages => (
            Some(either(s.request::<DraftIn<'_>>(), s.request::<BatchIn<'_>>())),
            either(s.answer::<ReceiptOut>(), s.answer::<Results<ReceiptOut>>()),
        ),
        Op::CreateConversation => (Some(s.request::<CreateIn>()), s.answer::<ConversationOut<'_>>()),
        Op::ChangeMembers => (Some(s.request::<MembersIn>()), s.answer::<ConversationOut<'_>>()),
        Op::RecallMessage => (Some(s.request::<RecallIn>()), s.answer::<RevisedOut>()),
        Op::EditMessage => (Some(s.request::<EditIn>()), s.answer::<RevisedOut>()),
        Op::DeleteMessages => (Some(s.request::<DeleteIn>()), s.answer::<Results<RevisedOut>>()),
        Op::UpdateConversation => (Some(s.request::<UpdateIn>()), s.answer::<ConversationOut<'_>>()),
        Op::PullMessages => (
            Some(either(s.request::<PullIn>(), s.request::<PullsIn<'_>>())),
            either(s.answer::<PageOut<'_>>(), s.answer::<Results<PageOut<'_>>>()),
        ),
        Op::GetMessages => (Some(s.request::<GetIn>()), s.answer::<FoundOut<'_>>()),
        Op::MessageVersions => (Some(s.request::<VersionsIn>()), s.answer::<VersionsOut<'_>>()),
        Op::ReadAround => (Some(s.request::<AroundIn>()), s.answer::<AroundOut<'_>>()),
        Op::GetConversation => (Some(s.request::<GetConversationIn>()), s.answer::<ConversationOut<'_>>()),
        Op::ListConversations => (Some(s.request::<ListIn>()), s.answer::<ListOut<'_>>()),
        Op::SyncMessages => (Some(s.request::<SyncIn>()), s.answer::<SyncOut<'_>>()),
        Op::SyncGlobal => (Some(s.request::<GlobalIn>()), s.answer::<ChangesOut<'_>>()),
        Op::SyncDigest => (Some(s.request::<DigestIn>()), s.answer::<DigestOut<'_>>()),
        Op::MarkRead => (Some(s.request::<ReadIn>()), s.answer::<ReadOut>()),
        Op::CountUnread => (Some(s.request::<OfflineIn>()), s.answer::<OfflineOut>()),
        Op::ListDevices => (Some(s.request::<DevicesIn>()), s.answer::<DevicesOut<'_>>()),
        Op::PushSettings => (Some(s.request::<SettingsIn>()), s.answer::<SettingsOut<'_>>()),
        Op::PushDue => (Some(s.request::<DueIn>()), s.answer::<DueOut<'_>>()),
        Op::ReadFeed => (Some(s.request::<FeedIn>()), s.answer::<FeedOut<'_>>()),
        Op::ExportUser => (Some(s.request::<ExportIn>()), s.answer::<ExportOut<'_>>()),
        Op::EraseUser => (Some(s.request::<EraseIn>()), s.answer::<EraseOut>()),
        Op::RunUpkeep => (Some(s.request::<RunIn>()), s.answer::<RunOut>()),
        Op::StoreStatus => (None, s.answer::<StatusOut>()),
        Op::DeadLetters => (Some(s.request::<DeadLettersIn>()), s.answer::<DeadLettersOut>()),
        Op::Health | Op::Ready => (None, s.answer::<HealthOut>()),
        Op::OpenApi => (None, schemars::json_schema!({ "type": "object" })),
    }
}

fn either(one: Schema, several: Schema) -> Schema {
    schemars::json_schema!({ "anyOf": [one, several] })
}

/// The schemas seen so far; of requests as they are read, of answers as they are written.
struct Schemas {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let generator = |contract: Contract| {
            let settings = SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = SCHEMAS.into();
                settings.meta_schema = None;
                settings.contract = contract;
            });
            settings.into_generator()
        };
        Self { requests: generator(Contract::Deserialize), answers: generator(Contract::Serialize) }
    }

    fn request<T: JsonSchema>(&mut self) -> Schema {
        self.requests.subschema_for::<T>()
    }

    fn answer<T: JsonSchema>(&mut self) -> Schema {
        self.answers.subschema_for::<T>()
    }

    fn finish(mut self) -> Map<String, Value> {
        let mut all = self.requests.take_definitions(true);
        all.extend(self.answers.take_definitions(true));
        all
    }
}

#[cfg(test)]
mod tests;
