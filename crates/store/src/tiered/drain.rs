//! The drain: a partition's log goes to SQL, in its order and in batches.
//!
//! A lease keeps instances out of each other's way; what keeps them right is the gate in every statement
//! ([`super::apply`]). Entries leave the log once SQL has them. Killed anywhere, a drain is repeated
//! safely: entries that SQL has are passed over.

use super::apply::{Applied, Lifted, Repeated, apply};
use super::cold;
use super::entry::{Body, Class, Entry};
use super::keys::{self, Place};
use super::tell;
use super::{Tiered, home, limits, push, script, stamp, unknown_word};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis};
use crate::sql::SqlError;
use im_domain::{Error, MsgId, Result};
use std::collections::BTreeMap;
use std::ops::Range;

/// What one batch did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Batch {
    /// Messages that SQL has now.
    pub messages: u64,
    pub dead: u64,
    /// Somebody else drains the partition.
    pub is_held: bool,
    /// Entries left in the log.
    pub left: u64,
}

/// Drains one batch of a partition. `holder` names the drainer.
pub(super) async fn batch<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    partition: u8,
    holder: &str,
) -> Result<Batch> {
    let keys = [keys::lease(partition), keys::log(partition), keys::clock(partition)];
    let arguments = arguments![holder, limits::LEASE_MS, limits::DRAIN_ENTRIES_MAX, limits::DRAIN_BYTES_MAX];
    let (word, mut reply) = store.ask(partition, &script::DRAIN_READ, &keys, arguments).await?;
    match word.as_str() {
        "ok" => {}
        "held" => return Ok(Batch { is_held: true, ..Batch::default() }),
        word => return Err(unknown_word("drain_read", word)),
    }
    let database = home::position(&mut reply)?;
    let epoch = reply.text()?;
    let (ms, counter) = (reply.number()?, reply.number()?);
    let clock = stamp::join(ms, u64::from(partition) << 14 | counter);
    let begun = store.now_ms();
    let mut work =
        Work { store, partition, database, epoch, begun, holder, entries: Vec::new(), done: Done::default() };
    while reply.left() > 0 {
        let id = reply.text()?;
        match Entry::parse(&id, &reply.bytes()?) {
            Some(entry) if entry.stamp <= clock => work.entries.push(entry),
            Some(_) => work.done.dead.push((id, "its stamp was never given".to_owned())),
            None => work.done.dead.push((id, "not an entry of the log".to_owned())),
        }
    }
    if work.entries.is_empty() && work.done.dead.is_empty() {
        return Ok(Batch::default());
    }
    // What was stored before a failure leaves the log in any case.
    let stored = work.store_all().await;
    // Nor does it stay for whoever cannot be told of it.
    let told = work.wake().await;
    let left = work.finish().await?;
    let raced = stored?;
    match told {
        Err(Error::HotUnavailable { .. }) => {}
        told => told?,
    }
    Ok(Batch { messages: work.done.messages, dead: work.done.dead.len() as u64, is_held: raced, left })
}

struct Work<'a, R, P> {
    store: &'a Tiered<R, P>,
    partition: u8,
    database: usize,
    /// The epoch in which the entries were read.
    epoch: String,
    /// When, in milliseconds since 1970.
    begun: u64,
    holder: &'a str,
    entries: Vec<Entry>,
    done: Done,
}

/// What has happened to entries so far.
#[derive(Default)]
struct Done {
    /// How many, from the front, SQL has.
    count: usize,
    messages: u64,
    repeated: Vec<Repeated>,
    /// Ids of entries that can never be stored, with the error.
    dead: Vec<(String, String)>,
}

/// Up to where SQL has a conversation now: its last message and its last entry of the batch.
#[derive(Clone, Copy, Default)]
struct Kept {
    message: MsgId,
    entry: MsgId,
}

impl<R: Redis, P: Postgres> Work<'_, R, P> {
    /// Stores the entries in order; true when somebody else is at it.
    async fn store_all(&mut self) -> Result<bool> {
        for run in runs(&self.entries) {
            tell::repeat(self.store, self.entries.get(run.clone()).unwrap_or_default()).await?;
            if self.store_run(run).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Stores entries of one class. A statement that is refused for its data is split, down to the
    /// entry that is to blame.
    async fn store_run(&mut self, run: Range<usize>) -> Result<bool> {
        let mut parts = vec![run];
        while let Some(part) = parts.pop() {
            if self.is_over() {
                return Ok(true);
            }
            let db = self.store.database(self.database)?;
            let entries = self.entries.get_mut(part.clone()).unwrap_or_default();
            let lifted = match cold::reach::reach(db, entries).await? {
                Ok(lifted) => lifted,
                Err(reason) => {
                    self.give_up(part, &reason);
                    continue;
                }
            };
            let entries = self.entries.get(part.clone()).unwrap_or_default();
            match apply(self.store, self.database, self.partition, &self.epoch, entries, &lifted).await {
                Ok(Applied::Raced) => return Ok(true),
                Ok(Applied::Moved) => {
                    home::relocate(self.store, self.partition, self.database).await?;
                    return Ok(true);
                }
                Ok(Applied::Done { messages, repeated }) => {
                    self.done.messages += messages;
                    self.done.repeated.extend(repeated);
                    self.done.count = part.end;
                }
                Err(SqlError::Refused(reason)) if part.len() == 1 => {
                    self.try_again(part, &lifted, reason).await?;
                }
                Err(SqlError::Refused(_)) => {
                    let middle = part.start + part.len() / 2;
                    parts.push(middle..part.end);
                    parts.push(part.start..middle);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    /// Whether the batch has to end here: its lease does, or so much was refused that something else
    /// must be wrong. What was done counts; the next batch goes on.
    fn is_over(&self) -> bool {
        let took_ms = self.store.now_ms().saturating_sub(self.begun);
        took_ms > limits::LEASE_MS / 2 || self.done.dead.len() >= limits::DEAD_PER_BATCH_MAX
    }

    /// Tries a refused entry some more times, and gives it up then.
    async fn try_again(&mut self, part: Range<usize>, lifted: &Lifted, mut reason: String) -> Result<()> {
        let entries = self.entries.get(part.clone()).unwrap_or_default();
        for _ in 1..limits::ROW_TRIES_MAX {
            match apply(self.store, self.database, self.partition, &self.epoch, entries, lifted).await {
                Err(SqlError::Refused(again)) => reason = again,
                Err(error) => return Err(error.into()),
                Ok(Applied::Done { messages, repeated }) => {
                    self.done.messages += messages;
                    self.done.repeated.extend(repeated);
                    self.done.count = part.end;
                    return Ok(());
                }
                Ok(Applied::Raced | Applied::Moved) => return Err(super::overloaded()),
            }
        }
        self.give_up(part, &reason);
        Ok(())
    }

    fn give_up(&mut self, part: Range<usize>, reason: &str) {
        let entries = self.entries.get(part.clone()).unwrap_or_default();
        self.done.dead.extend(entries.iter().map(|entry| (entry.id.clone(), reason.to_owned())));
        self.done.count = part.end;
    }

    /// Tells those who may have to be woken of the messages that SQL has. It comes before the entries leave the
    /// log, and is repeated with them.
    async fn wake(&self) -> Result<()> {
        let stored = self.entries.get(..self.done.count).unwrap_or_default();
        let is_shown = |entry: &&Entry| {
            let is_dead = self.done.dead.iter().any(|(id, _)| *id == entry.id);
            let is_copy = self.done.repeated.iter().any(|copy| Some(copy.msg_id) == entry.msg_id());
            !is_dead && !is_copy
        };
        push::wake::wake(self.store, self.partition, self.database, stored.iter().filter(is_shown)).await
    }

    /// Buries the dead, lets go of what SQL has, and trims what is hot; gives what is left in the log.
    async fn finish(&self) -> Result<u64> {
        self.bury().await?;
        let stored = self.entries.get(..self.done.count).unwrap_or_default();
        let mut kept: BTreeMap<&Place, Kept> = BTreeMap::new();
        for entry in stored.iter().filter(|entry| !matches!(entry.body, Body::User(_))) {
            let up_to = kept.entry(&entry.place).or_default();
            // What was set aside SQL does not have: it stays hot.
            if self.done.dead.iter().any(|(id, _)| *id == entry.id) {
                continue;
            }
            up_to.message = up_to.message.max(entry.msg_id().unwrap_or_default());
            up_to.entry = entry.stamp;
        }
        let mut keys =
            vec![keys::lease(self.partition), keys::log(self.partition), keys::clock(self.partition)];
        for place in kept.keys() {
            keys.extend(place.state());
        }
        let settings = &self.store.settings;
        let mut arguments: Vec<Argument> = arguments![
            self.holder,
            limits::HOT_MESSAGES_MAX,
            limits::IDLE_LIFE_S,
            settings.marker_life_s,
            stored.len() as u64,
            kept.len() as u64
        ];
        for entry in stored {
            let tenant = entry.msg_id().map_or("", |_| entry.place.tenant());
            arguments.extend(arguments![entry.id.as_str(), tenant]);
        }
        for up_to in kept.values() {
            arguments.extend(arguments![stamp::text(up_to.message), stamp::text(up_to.entry)]);
        }
        for repeated in &self.done.repeated {
            self.describe(repeated, &kept, &mut keys, &mut arguments);
        }
        let (word, mut reply) = self.store.ask(self.partition, &script::DRAIN_DONE, &keys, arguments).await?;
        match word.as_str() {
            "ok" => Ok(reply.number()?),
            word => Err(unknown_word("drain_done", word)),
        }
    }

    /// Tells `drain_done.lua` of a repeated message: it goes from the stream, and its marker leads to
    /// the first.
    fn describe(
        &self,
        repeated: &Repeated,
        kept: &BTreeMap<&Place, Kept>,
        keys: &mut Vec<String>,
        arguments: &mut Vec<Argument>,
    ) {
        let entry = self.entries.iter().find(|entry| entry.msg_id() == Some(repeated.msg_id));
        let Some((place, message)) = entry.and_then(|entry| match &entry.body {
            Body::Message(message) => Some((&entry.place, message)),
            _ => None,
        }) else {
            return;
        };
        let Some(at) = kept.keys().position(|kept| *kept == place) else { return };
        let record = &message.record;
        keys.push(place.marker(record.sender.as_str(), &record.client_msg_id));
        let first = stamp::text(repeated.first).replace('-', " ");
        let mut marker = format!("{first} {} ", repeated.first_seq).into_bytes();
        marker.extend_from_slice(&record.fingerprint);
        arguments.extend(arguments![at as u64 + 1, stamp::text(repeated.msg_id), marker]);
    }

    async fn bury(&self) -> Result<()> {
        if self.done.dead.is_empty() {
            return Ok(());
        }
        let keys = [keys::log(self.partition), keys::dead(self.partition), keys::clock(self.partition)];
        let arguments = self.done.dead.iter().flat_map(|(id, error)| arguments![id.as_str(), error.as_str()]);
        let (word, _) = self.store.ask(self.partition, &script::BURY, &keys, arguments.collect()).await?;
        if word != "ok" {
            return Err(Error::internal(format!("the script bury answered {word}")));
        }
        Ok(())
    }
}

/// Stretches of entries that one statement can store.
fn runs(entries: &[Entry]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut before = None;
    for (at, entry) in entries.iter().enumerate() {
        let class = entry.class();
        match runs.last_mut().filter(|_| before == Some(class) && class != Class::Single) {
            Some(run) => run.end = at + 1,
            None => runs.push(at..at + 1),
        }
        before = Some(class);
    }
    runs
}
