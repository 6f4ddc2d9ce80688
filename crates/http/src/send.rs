//! The routes of the function `send`: messages, conversations and members are written here.

use crate::auth::{Caller, Scope};
use crate::batch::{Outcome, Results, only, part};
use crate::exchange::Response;
use crate::json::conversation::{ConversationOut, CreateIn, MembersIn, UpdateIn};
use crate::json::draft::{BatchIn, DraftIn};
use crate::json::message::ReceiptOut;
use crate::json::revision::{DeleteIn, Deletion, EditIn, RecallIn, RevisedOut};
use crate::json::{has_field, parse};
use crate::problem::Problem;
use crate::router::{Api, Call};
use crate::routes::{Component, Op};
use im_domain::conversation::SettingsRefusal;
use im_domain::message::Ack;
use im_domain::revision::{Revised, Revision};
use im_domain::storage::{Actor, Storage};
use im_domain::{ConversationId, Error, MsgId};

pub struct SendApi;

impl Api for SendApi {
    const COMPONENT: Component = Component::Send;

    async fn run(call: Call, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
        match (call.op, call.caller) {
            (Op::SendMessages, Some(caller)) if has_field(body, "messages") => {
                send_batch(&caller, body, storage).await
            }
            (Op::SendMessages, Some(caller)) => send(&caller, body, storage).await,
            (Op::RecallMessage, Some(caller)) => recall(&caller, body, storage).await,
            (Op::EditMessage, Some(caller)) => edit(&caller, body, storage).await,
            (Op::DeleteMessages, Some(caller)) => delete(&caller, body, storage).await,
            (Op::CreateConversation, Some(caller)) => create(&caller, body, storage).await,
            (Op::ChangeMembers, Some(caller)) => change_members(&caller, body, storage).await,
            (Op::UpdateConversation, Some(caller)) => update(&caller, body, storage).await,
            _ => Err(Problem::not_found()),
        }
    }
}

async fn send(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let draft: DraftIn<'_> = parse(body)?;
    let actor = caller.actor(draft.user_id())?;
    let ack = draft.ack();
    let draft = draft.draft(caller, &actor.user)?;
    let receipt = only(storage.append(&actor, vec![draft], ack).await?)?;
    Response::json(&ReceiptOut::from(receipt))
}

async fn send_batch(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let batch: BatchIn<'_> = parse(body)?;
    let actor = caller.actor(batch.user_id.map(|user| user.0))?;
    let ack = batch.ack.map_or(Ack::Accepted, |ack| ack.0);
    let items = batch.messages.0.iter().enumerate().map(|(index, raw)| {
        let draft: DraftIn<'_> = raw.read(&format!("messages[{index}]"))?;
        draft.item(caller, &actor.user)
    });
    let (drafts, places) = part(items);
    let answers = match drafts.is_empty() {
        true => Vec::new(),
        false => storage.append(&actor, drafts, ack).await?,
    };
    let results = places.fill(answers)?.into_iter();
    let results = results.map(|result| Outcome::from(result.map(ReceiptOut::from))).collect();
    Response::json(&Results { results })
}

async fn recall(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut recall: RecallIn = parse(body)?;
    let actor = caller.actor(recall.user_id.take().map(|user| user.0))?;
    let revised = storage.revise(&actor, &recall.revision()?).await?;
    Response::json(&RevisedOut::from(revised))
}

async fn edit(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut edit: EditIn = parse(body)?;
    let actor = caller.actor(edit.user_id.take().map(|user| user.0))?;
    let revised = storage.revise(&actor, &edit.revision()?).await?;
    Response::json(&RevisedOut::from(revised))
}

async fn delete(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut delete: DeleteIn = parse(body)?;
    let actor = caller.actor(delete.user_id.take().map(|user| user.0))?;
    let outcomes = match delete.deletion()? {
        Deletion::ForAll(revisions) => delete_for_all(&actor, &revisions, storage).await?,
        Deletion::ForMe { conversation, ids } => hide(&actor, &conversation, &ids, storage).await?,
    };
    let one =
        |outcome: Result<Revised, Error>| Outcome::from(outcome.map(RevisedOut::from).map_err(Problem::from));
    Response::json(&Results { results: outcomes.into_iter().map(one).collect() })
}

type Outcomes = Vec<Result<Revised, Error>>;

/// One after the other: should the store fail under way, the call fails, and is repeated without harm.
async fn delete_for_all(
    actor: &Actor,
    revisions: &[Revision],
    storage: &impl Storage,
) -> Result<Outcomes, Problem> {
    let mut outcomes = Vec::with_capacity(revisions.len());
    for revision in revisions {
        match storage.revise(actor, revision).await {
            Err(error) if error.is_systemic() => return Err(error.into()),
            outcome => outcomes.push(outcome),
        }
    }
    Ok(outcomes)
}

/// Whatever the scope, each message has its result.
async fn hide(
    actor: &Actor,
    conversation: &ConversationId,
    ids: &[MsgId],
    storage: &impl Storage,
) -> Result<Outcomes, Problem> {
    let outcomes = match storage.hide(actor, conversation, ids).await {
        Err(error) if error.is_systemic() => return Err(error.into()),
        Err(error) => return Ok(ids.iter().map(|_| Err(error.clone())).collect()),
        Ok(outcomes) => outcomes,
    };
    let one = |(msg_id, outcome): (&MsgId, Result<(), Error>)| {
        outcome.map(|()| Revised { msg_id: *msg_id, told: None })
    };
    Ok(ids.iter().zip(outcomes).map(one).collect())
}

async fn create(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut create: CreateIn = parse(body)?;
    let actor = caller.actor(create.user_id.take().map(|user| user.0))?;
    let conversation = storage.create(&actor, create.conversation()).await?;
    Response::json(&ConversationOut::from(&conversation))
}

async fn change_members(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut members: MembersIn = parse(body)?;
    let actor = caller.actor(members.user_id.take().map(|user| user.0))?;
    let (id, change) = members.change()?;
    let conversation = storage.change_members(&actor, &id, change).await?;
    Response::json(&ConversationOut::from(&conversation))
}

async fn update(caller: &Caller, body: &[u8], storage: &impl Storage) -> Result<Response, Problem> {
    let mut update: UpdateIn = parse(body)?;
    let actor = caller.actor(update.user_id.take().map(|user| user.0))?;
    let (id, change) = update.change()?;
    if change.legal_hold.is_some() && caller.scope != Scope::Admin {
        return Err(Error::from(SettingsRefusal::Hold).into());
    }
    let conversation = storage.update(&actor, &id, change).await?;
    Response::json(&ConversationOut::from(&conversation))
}
