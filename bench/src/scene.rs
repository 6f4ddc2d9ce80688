//! What is asked: conversations of two, messages of 200 bytes, and one conversation with a long past.

use crate::failure::{Outcome, fail};
use crate::load::{Fill, Template, post};
use crate::servers::postgres::connect;
use crate::subject::{Subject, TENANT, Tokens, USER};
use im_domain::partition::partition_of;
use im_domain::{ConversationId, MsgId, Tenant};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// One for each connection of the widest load.
pub const CONVERSATIONS: usize = 32;
/// How every message begins.
pub const OPENING: &str = "A message of two hundred bytes";
const CONTENT_BYTES: usize = 200;
/// Messages of a page.
pub const PAGE: u64 = 20;
/// Where the client's id of a message goes, and as long as that.
pub const CLIENT_ID_HOLE: &str = "bench-HHHHHHHH-0000000000";
pub const SEND: &str = "/api/msg/send";
pub const PULL: &str = "/api/msg/pull";
const CREATE: &str = "/api/conversation/create";
/// Messages of a batch.
const BATCH: usize = 100;
/// Messages put into each conversation first: more than are kept hot.
const PAST: usize = 400;
const DEEP: &str = "deep";
/// Deep pages begin anywhere among so many of the oldest messages.
pub const DEEP_PAGES: u64 = 1_000;
/// How old the conversation with a long past is, so that its ids are below all that are given now.
const DEEP_AGE_MS: u64 = 24 * 60 * 60 * 1_000;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

pub fn conversation(index: usize) -> String {
    format!("c{:02}", index % CONVERSATIONS)
}

/// A text of 200 bytes.
pub fn content() -> String {
    let words =
        [OPENING, ", as long as what people write to each other when they write more than a word or two."];
    let text: String = words.into_iter().cycle().flat_map(str::chars).take(CONTENT_BYTES).collect();
    text
}

/// Ids of messages that nobody has used; of the length of [`CLIENT_ID_HOLE`].
pub fn client_ids() -> Fill {
    let run = std::process::id();
    Box::new(move |out| {
        let number = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        out.extend_from_slice(format!("bench-{run:08x}-{number:010}").as_bytes());
    })
}

/// A message; `id`: the client's own.
fn draft(conversation: &str, id: &str) -> Value {
    json!({ "conversationId": conversation, "clientMsgId": id, "type": "text", "content": content() })
}

/// A message of its own for each request.
pub fn send(tokens: &Tokens, index: usize) -> Template {
    let body = draft(&conversation(index), CLIENT_ID_HOLE).to_string();
    Template::new(&post(SEND, &tokens.user, &body), CLIENT_ID_HOLE.as_bytes(), client_ids())
}

pub fn newest(tokens: &Tokens, index: usize) -> Template {
    let body = json!({ "conversationId": conversation(index), "limit": PAGE });
    Template::fixed(&post(PULL, &tokens.user, &body.to_string()))
}

/// One message to each of the conversations, which may be the same.
fn batch<'a>(conversations: impl IntoIterator<Item = &'a str>) -> Value {
    let mut ids = client_ids();
    let messages = conversations.into_iter().map(|conversation| {
        let mut id = Vec::new();
        ids(&mut id);
        draft(conversation, &String::from_utf8_lossy(&id))
    });
    json!({ "messages": messages.collect::<Vec<_>>() })
}

fn batch_to(index: usize) -> Value {
    batch([conversation(index).as_str(); BATCH])
}

/// Says something in each of the conversations, which may be the same, in their order.
pub async fn say(subject: &Subject, tokens: &Tokens, conversations: &[String]) -> Outcome {
    for part in conversations.chunks(BATCH) {
        subject.post(SEND, &tokens.user, &batch(part.iter().map(String::as_str))).await?;
    }
    Ok(())
}

/// Makes a group of the user and others.
pub async fn create(subject: &Subject, tokens: &Tokens, name: &str, others: &[String]) -> Outcome {
    let new = json!({ "conversationId": name, "type": "group", "members": others });
    subject.post(CREATE, &tokens.user, &new).await.map(drop)
}

/// Requests that send at least so many messages, dealt out to all conversations; and how many.
pub fn batches(tokens: &Tokens, messages: u64) -> (Vec<Vec<u8>>, u64) {
    let count = messages.div_ceil(BATCH as u64);
    let request = |index: u64| post(SEND, &tokens.user, &batch_to(index as usize).to_string());
    ((0..count).map(request).collect(), count * BATCH as u64)
}

/// Makes the conversations, with a past.
pub async fn prepare(subject: &Subject, tokens: &Tokens) -> Outcome {
    for index in 0..CONVERSATIONS {
        create(subject, tokens, &conversation(index), &["bob".to_owned()]).await?;
        say(subject, tokens, &vec![conversation(index); PAST]).await?;
    }
    subject.drain(tokens).await.map(drop)
}

/// A conversation whose past is in SQL alone.
pub struct Deep {
    first_ms: u64,
    partition: u8,
}

impl Deep {
    /// Writes the conversation straight into SQL; `depth` messages lie above every page that is pulled.
    pub async fn fill(postgres_url: &str, depth: u64) -> Outcome<Self> {
        let tenant = Tenant::parse(TENANT)?;
        let partition = partition_of(&tenant, &ConversationId::parse(DEEP)?);
        let deep = Self { first_ms: crate::surroundings::now_ms() - DEEP_AGE_MS, partition };
        let count = depth + PAGE + DEEP_PAGES;
        let (cid, first, last) = (deep.id(0).to_sql(), deep.id(1).to_sql(), deep.id(count).to_sql());
        let step = deep.id(2).to_sql() - first;
        let created = deep.first_ms;
        connect(postgres_url).await?.batch_execute(&format!(
            "INSERT INTO conversation (cid, tenant, name, kind, history, member_count, head_msg_id, head_seq,
                head_countable, head_epoch, stored, create_time, update_time)
            SELECT {cid}, '{TENANT}', '{DEEP}', c.kind, c.history, 2, {last}, {count}, {count}, s.epoch, {count},
                {created}, {created}
            FROM conversation c JOIN partition_state s ON s.partition = {partition}
            WHERE c.tenant = '{TENANT}' AND c.name = '{known}';
            INSERT INTO member (cid, user_id, tenant, role)
            SELECT {cid}, m.user_id, '{TENANT}', m.role FROM member m JOIN conversation c USING (cid)
            WHERE c.tenant = '{TENANT}' AND c.name = '{known}';
            INSERT INTO message (cid, msg_id, seq, countable, sender, client_msg_id, fingerprint, kind, content)
            SELECT {cid}, {first} + (i - 1) * {step}, i, i, '{USER}', 'deep-' || i, decode(md5(i::text), 'hex'),
                k.kind, convert_to('{text}', 'UTF8')
            FROM generate_series(1::bigint, {count}) i, (SELECT kind FROM message LIMIT 1) k;
            ANALYZE; CHECKPOINT",
            known = conversation(0),
            text = content(),
        )).await?;
        Ok(deep)
    }

    fn id(&self, number: u64) -> MsgId {
        MsgId::compose(self.first_ms + number, self.partition, 0)
    }

    /// The messages of a page are those below this id.
    pub fn cursor(&self, page: u64) -> MsgId {
        self.id(PAGE + 1 + page % DEEP_PAGES)
    }

    pub fn name(&self) -> Outcome<ConversationId> {
        Ok(ConversationId::parse(DEEP)?)
    }

    /// Pages one after the other.
    pub fn pages(&self, tokens: &Tokens) -> Template {
        let ids: Vec<String> = (0..DEEP_PAGES).map(|page| self.cursor(page).number().to_string()).collect();
        let hole = ids.first().map(|id| "H".repeat(id.len())).unwrap_or_default();
        let body = json!({ "conversationId": DEEP, "limit": PAGE, "lastMsgId": hole });
        let mut next = ids.into_iter().cycle();
        let fill: Fill =
            Box::new(move |out| out.extend(next.next().into_iter().flat_map(String::into_bytes)));
        Template::new(&post(PULL, &tokens.user, &body.to_string()), hole.as_bytes(), fill)
    }
}

/// Makes sure that a subject gives whole pages, so that no figure is of something else.
pub async fn check(subject: &Subject, tokens: &Tokens, deep: &Deep) -> Outcome {
    let far =
        json!({ "conversationId": DEEP, "limit": PAGE, "lastMsgId": deep.cursor(0).number().to_string() });
    let near = json!({ "conversationId": conversation(0), "limit": PAGE });
    for (request, newest) in [(near, None), (far, Some(PAGE))] {
        let page = subject.post(PULL, &tokens.user, &request).await?;
        let messages = page.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let seq = messages.first().and_then(|message| message.get("seq")?.as_u64());
        if messages.len() as u64 != PAGE || newest.is_some_and(|newest| seq != Some(newest)) {
            return fail(format!("not the page expected: {page}"));
        }
    }
    Ok(())
}
