//! The routes of the function `pull`: history and conversations are read here.

use crate::auth::Caller;
use crate::batch::{Outcome, Results, only, part};
use crate::exchange::Response;
use crate::json::conversation::{ConversationOut, GetConversationIn, ListIn, ListOut};
use crate::json::page::{AroundIn, AroundOut, FoundOut, GetIn, PageOut, PullIn, PullsIn};
use crate::json::version::{VersionsIn, VersionsOut};
use crate::json::{has_field, parse, parse_or_empty};
use crate::problem::Problem;
use crate::router::{Api, Call};
use crate::routes::{Component, Op};
use im_domain::MsgId;
use im_domain::storage::Storage;

pub struct PullApi;

impl Api for PullApi {
    const COMPONENT: Component = Component::Pull;

    async fn run(call: Call, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
        match (call.op, call.caller) {
            (Op::PullMessages, Some(caller)) if has_field(body, "requests") => {
                pull_batch(&caller, body, storage).await
            }
            (Op::PullMessages, Some(caller)) => pull(&caller, body, storage).await,
            (Op::GetMessages, Some(caller)) => get_messages(&caller, body, storage).await,
            (Op::MessageVersions, Some(caller)) => versions(&caller, body, storage).await,
            (Op::ReadAround, Some(caller)) => around(&caller, body, storage).await,
            (Op::GetConversation, Some(caller)) => get_conversation(&caller, body, storage).await,
            (Op::ListConversations, Some(caller)) => list(&caller, body, storage).await,
            _ => Err(Problem::not_found()),
        }
    }
}

async fn pull(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut pull: PullIn = parse(body)?;
    let actor = caller.actor(pull.user_id.take().map(|user| user.0))?;
    let page = only(storage.page(&actor, vec![pull.query()?]).await?)?;
    Response::json(&PageOut::new(&page))
}

async fn pull_batch(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let batch: PullsIn<'_> = parse(body)?;
    let actor = caller.actor(batch.user_id.map(|user| user.0))?;
    let items = batch.requests.0.iter().enumerate().map(|(index, raw)| {
        let pull: PullIn = raw.read(&format!("requests[{index}]"))?;
        pull.item()
    });
    let (queries, places) = part(items);
    let answers = match queries.is_empty() {
        true => Vec::new(),
        false => storage.page(&actor, queries).await?,
    };
    let pages = places.fill(answers)?;
    let outcome = |page| Outcome::from(Result::map(page, PageOut::new));
    let results = pages.iter().map(|page| outcome(page.as_ref().map_err(Problem::clone))).collect();
    Response::json(&Results { results })
}

async fn get_messages(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let get: GetIn = parse(body)?;
    let actor = caller.actor(get.user_id.map(|user| user.0))?;
    let ids: Vec<MsgId> = get.msg_ids.0.into_iter().map(|id| id.0).collect();
    let conversation = get.conversation_id.0;
    let found = storage.get(&actor, &conversation, &ids).await?;
    Response::json(&FoundOut::new(&conversation, &found))
}

async fn versions(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let wanted: VersionsIn = parse(body)?;
    let actor = caller.actor(None)?;
    let found = storage.versions(&actor, &wanted.conversation_id.0, wanted.msg_id.0).await?;
    Response::json(&VersionsOut::new(&found))
}

async fn around(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut around: AroundIn = parse(body)?;
    let actor = caller.actor(around.user_id.take().map(|user| user.0))?;
    let around = around.around();
    let pages = storage.page(&actor, around.queries()).await?.into_iter().collect::<Result<Vec<_>, _>>()?;
    Response::json(&AroundOut::new(&around.context(pages)?))
}

async fn get_conversation(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let get: GetConversationIn = parse(body)?;
    let actor = caller.actor(get.user_id.map(|user| user.0))?;
    let conversation = storage.conversation(&actor, &get.conversation_id.0).await?;
    Response::json(&ConversationOut::from(&conversation))
}

async fn list(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut list: ListIn = parse_or_empty(body)?;
    let actor = caller.actor(list.user_id.take().map(|user| user.0))?;
    let (cursor, limit) = list.part()?;
    let part = storage.list(&actor, &cursor, limit).await?;
    Response::json(&ListOut::from(&part))
}
