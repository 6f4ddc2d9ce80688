//! Dead letters: entries of a log that SQL cannot take, set aside by the drain.

use super::entry::Entry;
use super::{Tiered, keys, script, unknown_word, upkeep};
use crate::arguments;
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis};
use im_domain::upkeep::{DeadLetter, DeadLetterAction};
use im_domain::{Result, Tenant};

/// Letters of a partition that are looked at: those of other tenants stand among them.
const LETTERS_READ_MAX: u64 = 1_000;

pub(super) async fn letters<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    action: DeadLetterAction,
    limit: u32,
) -> Result<Vec<DeadLetter>> {
    let mut found = Vec::new();
    for backlog in upkeep::backlogs(store, None).await?.into_iter().filter(|backlog| backlog.dead > 0) {
        let room = (limit as usize).saturating_sub(found.len());
        if room == 0 {
            break;
        }
        let mut part = read(store, tenant, backlog.partition).await?;
        if action == DeadLetterAction::Replay {
            part.retain(|(_, is_entry)| *is_entry);
        }
        part.truncate(room);
        let part: Vec<DeadLetter> = part.into_iter().map(|(letter, _)| letter).collect();
        carry_out(store, action, backlog.partition, &part).await?;
        found.extend(part);
    }
    Ok(found)
}

/// The tenant's letters of a partition, and those that nobody can read; each with whether it is an entry.
async fn read<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    tenant: &Tenant,
    partition: u8,
) -> Result<Vec<(DeadLetter, bool)>> {
    let node = store.node(store.node_of(partition))?;
    let mut reply = script::LETTERS
        .run(&node.redis, &[keys::dead(partition)], &[Argument::from(LETTERS_READ_MAX)])
        .await?;
    let mut letters = Vec::new();
    while reply.left() > 0 {
        let (id, error) = (reply.text()?, reply.text()?);
        let subject = Entry::subject(&reply.bytes()?);
        if subject.as_ref().is_some_and(|subject| subject.tenant != tenant.as_str()) {
            continue;
        }
        let is_entry = subject.is_some();
        let (conversation, msg_id) =
            subject.map_or((None, None), |subject| (subject.conversation, subject.msg_id));
        letters.push((DeadLetter { partition, id, error, conversation, msg_id }, is_entry));
    }
    Ok(letters)
}

async fn carry_out<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    action: DeadLetterAction,
    partition: u8,
    letters: &[DeadLetter],
) -> Result<()> {
    if letters.is_empty() || action == DeadLetterAction::Show {
        return Ok(());
    }
    let ids = letters.iter().map(|letter| Argument::from(letter.id.as_str()));
    if action == DeadLetterAction::Drop {
        let mut arguments = arguments![keys::dead(partition)];
        arguments.extend(ids);
        store.node(store.node_of(partition))?.redis.command("XDEL", arguments).await?;
        return Ok(());
    }
    let mut arguments = arguments![u64::from(partition)];
    arguments.extend(ids);
    let keys = [keys::clock(partition), keys::log(partition), keys::dead(partition)];
    match store.ask(partition, &script::REPLAY, &keys, arguments).await?.0.as_str() {
        "ok" => Ok(()),
        word => Err(unknown_word("replay", word)),
    }
}
