//! Messages whose recipients are many: they are told apart from the drain, so that it does not take longer, nor
//! does a message that is to be `persisted`, the more members a conversation has.
//!
//! The drain keeps the messages, and the upkeep's next run tells the members of all that was kept of a conversation
//! at once. The longer that takes, the longer the conversation is let be afterwards.

use super::super::keys::{self, Place};
use super::super::{Tiered, limits, script, stamp, topology, unknown_word};
use super::talk::{Talk, rule};
use super::wake::wake_all;
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Redis, Reply};
use im_domain::{Error, Result, Tenant};

/// Keeps what was said in conversations of a partition until somebody tells their members.
pub(super) async fn defer<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    partition: u8,
    talks: &[&Talk],
) -> Result<()> {
    if talks.is_empty() {
        return Ok(());
    }
    let mut arguments = arguments![u64::from(partition), limits::DEFERRED_BYTES_MAX];
    for talk in talks {
        let cid = stamp::text(talk.cid);
        arguments.extend(arguments![talk.place.name.as_str(), cid, talk.messages.as_str()]);
    }
    match store.ask(partition, &script::DEFER, &keys_of(partition), arguments).await?.0.as_str() {
        "ok" => Ok(()),
        word => Err(unknown_word("defer", word)),
    }
}

fn keys_of(partition: u8) -> [String; 3] {
    [keys::clock(partition), keys::later(partition), keys::LATER.to_owned()]
}

/// Tells the members of conversations that were put off, until none is left or `is_over` says so. A server that is
/// away keeps nobody from those of the others.
pub(in crate::tiered) async fn tell<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    is_over: &impl Fn() -> bool,
) -> Result<()> {
    let mut failure = None;
    for node in 0..store.nodes.len() {
        let told = async {
            while !is_over() && tell_next(store, node).await? {}
            Ok(())
        };
        failure = told.await.err().or(failure);
    }
    failure.map_or(Ok(()), Err)
}

/// Tells the members of one conversation of a server; false when there is none.
async fn tell_next<R: Redis, P: Postgres>(store: &Tiered<R, P>, node: usize) -> Result<bool> {
    let Some(any) = topology::partitions_of(node, store.nodes.len()).first().copied() else {
        return Ok(false);
    };
    let keys = [keys::clock(any), keys::LATER.to_owned()];
    let arguments = arguments![limits::DEFERRED_LEASE_MS];
    let (word, mut reply) = store.ask_node(node, &script::TAKE_DEFERRED, &keys, arguments).await?;
    match word.as_str() {
        "ok" => {}
        "none" => return Ok(false),
        word => return Err(unknown_word("take_deferred", word)),
    }
    let talk = take(store, &mut reply)?;
    let (place, (_, last, _)) = (talk.place.clone(), talk.extent());
    let begun = store.now_ms();
    wake_all(store, talk).await?;
    let pause_ms = store.now_ms().saturating_sub(begun).saturating_mul(limits::DEFERRED_PAUSE);
    let last = stamp::parts(last);
    let arguments = arguments![u64::from(place.partition), place.name.as_str(), last.0, last.1, pause_ms];
    let keys = keys_of(place.partition);
    match store.ask_node(node, &script::TOLD_DEFERRED, &keys, arguments).await?.0.as_str() {
        "ok" => Ok(true),
        word => Err(unknown_word("told_deferred", word)),
    }
}

fn take<R: Redis, P: Postgres>(store: &Tiered<R, P>, reply: &mut Reply) -> Result<Talk> {
    let name = reply.text()?;
    let place = Place::named(&name)
        .ok_or_else(|| Error::internal("a conversation that was put off has no good name"))?;
    let cid = super::super::read::id(reply)?;
    let rule = rule(store, &Tenant::parse(place.tenant())?);
    Ok(Talk { place, cid, rule, messages: reply.text()? })
}
