//! What was said in conversations, as users are told of it who may have to be woken.

use super::super::entry::{Body, Entry};
use super::super::keys::Place;
use super::super::{Tiered, stamp};
use crate::postgres::Postgres;
use crate::redis::Redis;
use im_domain::message::Kind;
use im_domain::{MsgId, Result, Tenant};
use std::collections::{BTreeMap, BTreeSet};

/// What was said in a conversation.
pub(super) struct Talk {
    pub place: Place,
    pub cid: MsgId,
    /// The tenant's rule and the messages, as `wake.lua` takes them.
    pub rule: String,
    pub messages: String,
}

impl Talk {
    /// Its first and its last message, with the place of that one among those that count.
    pub fn extent(&self) -> (MsgId, MsgId, u64) {
        let (first, _) = self.messages.lines().next().map(read_line).unwrap_or_default();
        let (last, countable) = self.messages.lines().next_back().map(read_line).unwrap_or_default();
        (first, last, countable)
    }

    /// The messages but for some.
    pub fn without(&self, gone: &BTreeSet<MsgId>) -> String {
        let lines = self.messages.split_inclusive('\n');
        lines.filter(|line| !gone.contains(&read_line(line).0)).collect()
    }
}

/// A message of a talk, and its place among those that count.
fn read_line(line: &str) -> (MsgId, u64) {
    let mut numbers = line.split(' ').map_while(|word| word.parse().ok());
    let mut next = || numbers.next().unwrap_or_default();
    (stamp::join(next(), next()), next())
}

/// By conversation, the messages that count.
pub(super) fn talks<'a, R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    entries: impl Iterator<Item = &'a Entry>,
) -> Result<Vec<Talk>> {
    let mut said: BTreeMap<&Place, (MsgId, BTreeMap<MsgId, String>)> = BTreeMap::new();
    for entry in entries {
        let Body::Message(message) = &entry.body else { continue };
        if message.record.silent || message.record.kind == Kind::Recall {
            continue;
        }
        let (ms, low) = stamp::parts(message.msg_id);
        let line = format!("{ms} {low} {} {}\n", message.countable, message.record.sender);
        let (_, lines) = said.entry(&entry.place).or_insert_with(|| (message.cid, BTreeMap::new()));
        lines.insert(message.msg_id, line);
    }
    let talk = |(place, (cid, lines)): (&Place, (MsgId, BTreeMap<MsgId, String>))| {
        let rule = rule(store, &Tenant::parse(place.tenant())?);
        Ok(Talk { place: place.clone(), cid, rule, messages: lines.into_values().collect() })
    };
    said.into_iter().map(talk).collect()
}

/// A tenant's rule as scripts take it.
pub(super) fn rule<R: Redis, P: Postgres>(store: &Tiered<R, P>, tenant: &Tenant) -> String {
    let rule = store.settings.push.of(tenant);
    format!("{} {} {}", rule.messages, rule.wait_ms, rule.offline_ms)
}
