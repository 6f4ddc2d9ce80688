//! Bounds: what the servers alone can do of the same, asked by a raw client.

use crate::failure::{Failure, Outcome, fail};
use crate::load::{self, Resp, Template, Window, command};
use crate::meter::Meter;
use crate::recorder::{self, Tape};
use crate::scene::{
    CLIENT_ID_HOLE, CONVERSATIONS, DEEP_PAGES, Deep, OPENING, PAGE, client_ids, content, conversation,
};
use crate::scratch_table::ScratchTable;
use crate::stats::Sample;
use crate::subject::{TENANT, USER};
use im_domain::message::{Ack, Draft, Kind, Target};
use im_domain::page::{Direction, PageQuery};
use im_domain::storage::{Actor, Storage};
use im_domain::{ClientMsgId, ConversationId, MsgId, Tenant, UserId};
use im_store::native::NativePostgres;
use im_store::postgres::Postgres;
use im_store::sql::Value;
use im_store::tiered::config::Config;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// The script of a send, on so many connections.
    Append(usize),
    /// The script of a pull.
    Page(usize),
    Ping,
    /// The statement of a pull of old messages.
    Statement,
    Copy,
    /// Single-row inserts, each a commit.
    Insert(usize),
}

impl Bound {
    pub fn name(self) -> String {
        match self {
            Self::Append(count) => format!("EVALSHA append, c={count}"),
            Self::Page(count) => format!("EVALSHA page, c={count}"),
            Self::Ping => "PING, c=1".to_owned(),
            Self::Statement => "its SQL statement, c=1".to_owned(),
            Self::Copy => "COPY of as many rows".to_owned(),
            Self::Insert(count) => format!("INSERT … commit, c={count}"),
        }
    }
}

/// What to ask the servers.
pub struct Bounds {
    redis: String,
    meter: Meter,
    length: Duration,
    /// The calls that send to each conversation and that read it.
    appends: Vec<Vec<u8>>,
    pages: Vec<Vec<u8>>,
    statement: (String, Vec<Value>),
    /// Where deep pages begin, as the statement is told it; the recorded one is the first.
    cursors: Vec<Value>,
    database: NativePostgres,
    table: ScratchTable,
}

impl Bounds {
    /// Records what the engine says. `rows`: how many the copy takes.
    pub async fn prepare(
        config: &Config,
        redis: String,
        meter: Meter,
        length: Duration,
        deep: &Deep,
        rows: u64,
    ) -> Outcome<Self> {
        let [url] = config.postgres.as_slice() else { return fail("one database is measured") };
        let (engine, tape) = recorder::engine(config)?;
        let (mut appends, mut pages) = (Vec::new(), Vec::new());
        for index in 0..CONVERSATIONS {
            let id = ConversationId::parse(conversation(index))?;
            engine.append(&actor()?, vec![draft(&id)?], Ack::Accepted).await?;
            appends.push(command(&tape.script.borrow()));
            engine.page(&actor()?, vec![pull(id, MsgId::NONE)]).await?;
            pages.push(command(&tape.script.borrow()));
        }
        engine.page(&actor()?, vec![pull(deep.name()?, deep.cursor(0))]).await?;
        let statement = take_statement(&tape)?;
        let cursors = (0..DEEP_PAGES).map(|page| deep.cursor(page).into()).collect();
        engine.run(&[], RUN_MS).await?;
        let database = NativePostgres::new(url.as_str())?;
        let table = ScratchTable::make(url.as_str(), rows).await?;
        Ok(Self { redis, meter, length, appends, pages, statement, cursors, database, table })
    }

    pub async fn measure(&self, bound: Bound) -> Outcome<Sample> {
        match bound {
            Bound::Append(count) => self.ask_redis(&self.appends, count, "\r\n:0\r\n:").await,
            Bound::Page(count) => self.ask_redis(&self.pages, count, OPENING).await,
            Bound::Ping => self.ask_redis(&[command(&[b"PING".to_vec()])], 1, "PONG").await,
            Bound::Statement => self.ask_statement().await,
            Bound::Copy => self.table.copy(self.meter).await,
            Bound::Insert(count) => self.table.insert(count, self.length, self.meter).await,
        }
    }

    async fn ask_redis(&self, calls: &[Vec<u8>], count: usize, holds: &'static str) -> Outcome<Sample> {
        let template = |call: &Vec<u8>| Template::new(call, CLIENT_ID_HOLE.as_bytes(), client_ids());
        let templates = calls.iter().take(count).map(template).collect();
        load::run(&self.redis, Resp { holds }, templates, self.length, self.meter).await
    }

    async fn ask_statement(&self) -> Outcome<Sample> {
        let window = Window::of(self.length);
        let (text, recorded) = &self.statement;
        let mut cursors = self.cursors.iter().cycle();
        let ask = async || {
            let first = self.cursors.first();
            let cursor = cursors.next();
            let told = recorded
                .iter()
                .map(|value| if Some(value) == first { cursor.unwrap_or(value) } else { value });
            match self.database.query(text, told.cloned().collect()).await?.len() as u64 {
                // One more tells whether there are more; the oldest page has none.
                PAGE | ROWS_MAX => Ok(()),
                other => fail(format!("a page of {other} rows")),
            }
        };
        window.gather([window.repeat(ask)], self.meter).await
    }
}

const ROWS_MAX: u64 = PAGE + 1;
/// How long the upkeep may take that leaves nothing of the recording behind, in milliseconds.
const RUN_MS: u64 = 25_000;

fn actor() -> Outcome<Actor> {
    Ok(Actor { tenant: Tenant::parse(TENANT)?, user: UserId::parse(USER)?, privileged: false })
}

fn draft(conversation: &ConversationId) -> Outcome<Draft> {
    Ok(Draft {
        sender: UserId::parse(USER)?,
        target: Target::Conversation(conversation.clone()),
        client_msg_id: ClientMsgId::parse(CLIENT_ID_HOLE)?,
        client_time: None,
        kind: Kind::Text,
        content: content(),
        reply_to: None,
        ext: None,
        silent: false,
    })
}

fn pull(conversation: ConversationId, cursor: MsgId) -> PageQuery {
    PageQuery {
        conversation,
        cursor,
        limit: PAGE as u32,
        direction: Direction::Up,
        from_ms: None,
        to_ms: None,
        kinds: Vec::new(),
    }
}

fn take_statement(tape: &Tape) -> Outcome<(String, Vec<Value>)> {
    tape.statement.take().ok_or_else(|| Failure("a deep page was read without SQL".to_owned()))
}
