//! Databases are added and removed while everything goes on: nothing is lost, nothing is there twice, the
//! order stays, and in the end every partition is where its number says and nowhere else. Each step may
//! be killed at any call and goes on when it is called again.

use super::backend::{block_on, machine_ms};
use super::mortal::{Kill, Mortal, MortalPostgres, MortalRedis};
use super::site::*;
use super::talk::*;
use super::tiered::{Engine, settings};
use crate::servers::postgres::query_at;
use crate::servers::redis::RedisServer;
use futures::future::join_all;
use im_domain::conversation::ConversationChange;
use im_domain::limits::RETENTION_MS_MAX;
use im_domain::message::Receipt;
use im_domain::page::Direction;
use im_domain::push::PushSettingsChange;
use im_domain::retention::{KeepFor, RetentionRules};
use im_domain::storage::Storage;
use im_domain::upkeep::Task;
use im_domain::{Error, Result};
use im_store::native::{NativePostgres, NativeRedis};
use im_store::tiered::HotDurability::Everysec;
use im_store::tiered::Tiered;
use im_store::tiered::rebalance::{change_redis, declare, finish, move_partitions, place_of};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

const WRITERS: usize = 8;
const CONVERSATIONS: usize = 4 * WRITERS;

fn name(conversation: usize) -> String {
    format!("c{conversation}")
}

pub fn on(site: &Site, databases: usize) -> Engine {
    engine_on(&site.redis_urls(), &site.postgres_urls()[..databases], Everysec)
}

/// An engine for the steps, which does not wait for readers.
pub fn mover(site: &Site, kill: Option<Kill>) -> (Tiered<MortalRedis, MortalPostgres>, Rc<Mortal>) {
    let mortal = Rc::new(Mortal::new(kill));
    let mut settings = settings(Box::new(machine_ms), RetentionRules::default());
    settings.servers = "the mover's".to_owned();
    settings.pause = Box::new(|_| Box::pin(tokio::time::sleep(Duration::from_millis(1))));
    let redis = |url: &String| MortalRedis(NativeRedis::new(url).unwrap(), Rc::clone(&mortal));
    let postgres = |url: &String| MortalPostgres(NativePostgres::new(url).unwrap(), Rc::clone(&mortal));
    let redis = site.redis_urls().iter().map(redis).collect();
    let postgres = site.postgres_urls().iter().map(postgres).collect();
    (Tiered::new(redis, postgres, settings).unwrap(), mortal)
}

/// What each conversation says of how long it is kept.
fn kept(conversation: usize) -> ConversationChange {
    let (keep_for, legal_hold) = (Some(KeepFor::Ms(RETENTION_MS_MAX)), Some(conversation.is_multiple_of(2)));
    ConversationChange { keep_for, legal_hold, ..ConversationChange::default() }
}

fn make_conversations(store: &Engine) {
    for conversation in 0..CONVERSATIONS {
        group(store, &name(conversation), &["a", "b"]);
        send(store, "a", &name(conversation), 0);
        update(store, &service("root"), &name(conversation), kept(conversation)).unwrap();
        sync(store, "b", "phone", sync_query(&name(conversation), None)).unwrap();
        sync(store, "b", &format!("other{conversation}"), sync_query(&name(conversation), None)).unwrap();
    }
    for user in reticent() {
        let hide = PushSettingsChange { show_content: Some(false), muted: None };
        block_on(store.push_settings(&actor(&user), hide)).unwrap();
    }
    block_on(store.append(&actor("x"), vec![draft_to_peer("x", "y")], im_domain::message::Ack::Accepted))
        .unwrap();
    drain(store);
}

/// Users who let no push show what was said.
fn reticent() -> impl Iterator<Item = String> {
    (0..40).map(|n| format!("shy{n}"))
}

/// What is kept of users is as it was.
fn assert_users(store: &Engine) {
    let devices = block_on(store.devices(&actor("b"), None)).unwrap();
    assert_eq!(devices.len(), CONVERSATIONS + 1);
    for user in reticent() {
        let settings = block_on(store.push_settings(&actor(&user), PushSettingsChange::default()));
        assert!(!settings.unwrap().show_content, "{user}");
    }
}

/// Every conversation has the messages 0 to `count` once, in order and without a hole, hot or not.
fn assert_whole(site: &Site, store: &Engine, counts: &[usize]) {
    for pass in 0..2 {
        for (conversation, count) in counts.iter().enumerate() {
            let messages = walk(store, "b", &name(conversation), 50, Direction::Down);
            let expected: Vec<_> = (0..*count).map(|n| format!("message {n}")).collect();
            assert_eq!(
                messages.iter().map(|m| m.content.clone()).collect::<Vec<_>>(),
                expected,
                "{conversation}"
            );
            assert!(messages.is_sorted_by(|a, b| a.msg_id < b.msg_id && a.seq + 1 == b.seq), "{pass}");
            let found = block_on(store.conversation(&service("b"), &id(&name(conversation)))).unwrap();
            let is_kept = kept(conversation);
            assert_eq!((found.retention_ms, found.legal_hold), (Some(RETENTION_MS_MAX), is_kept.legal_hold));
        }
        let list = block_on(store.list(&actor("b"), "", 100)).unwrap().conversations;
        assert_eq!(list.len(), counts.len());
        assert_eq!(block_on(store.list(&actor("y"), "", 100)).unwrap().conversations.len(), 1);
        assert_users(store);
        drain(store);
        for server in &site.redis {
            for keys in [super::settled::HOT_KEYS, "im:{*}:s:*"] {
                let forget = im_store::arguments![super::settled::FORGET, "0", keys];
                crate::servers::redis::command_at(server.url(), "EVAL", forget).unwrap();
            }
        }
    }
}

fn integers(url: &str, statement: &str) -> Vec<u64> {
    query_at(url, statement, Vec::new()).unwrap().iter_mut().map(|row| row.count().unwrap()).collect()
}

/// Every partition is at its place among `databases`, with all of its rows, and nowhere else.
fn assert_at_place(site: &Site, databases: usize, messages: usize) {
    const HERE: &str = "SELECT partition FROM partition_state WHERE home = 1 ORDER BY 1";
    const ROWS: &str = "
        SELECT (cid >> 14) & 255 FROM message UNION SELECT (cid >> 14) & 255 FROM conversation
        UNION SELECT (cid >> 14) & 255 FROM member UNION SELECT (cid >> 14) & 255 FROM position
        UNION SELECT partition FROM alias UNION SELECT partition FROM device
        UNION SELECT partition FROM user_setting UNION SELECT partition FROM audit
        UNION SELECT partition FROM partition_state";
    let mut found = 0;
    for (database, url) in site.postgres_urls().iter().enumerate() {
        let is_its = |partition: &u64| place_of(*partition as u8, databases) == database;
        let expected: Vec<u64> = (0..256).filter(is_its).collect();
        assert_eq!(integers(url, HERE), expected, "database {database}");
        assert!(integers(url, ROWS).iter().all(is_its), "database {database}");
        found += integers(url, "SELECT count(*) FROM message")[0] as usize;
    }
    assert_eq!(found, messages);
}

/// Writes to a share of the conversations until `is_over`; gives how many messages each has.
async fn write(
    store: &Engine,
    writer: usize,
    counts: &[Cell<usize>],
    is_over: &Cell<bool>,
    sent: &Cell<usize>,
) {
    for turn in 0.. {
        let conversation = writer + WRITERS * (turn % (CONVERSATIONS / WRITERS));
        let count = &counts[conversation];
        let receipt: Receipt = send_at_last(store, "a", &name(conversation), count.get()).await;
        assert_eq!(receipt.seq, count.get() as u64 + 1);
        count.set(count.get() + 1);
        sent.set(sent.get() + 1);
        if is_over.get() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn drain_on(store: &Engine, is_over: &Cell<bool>) {
    while !is_over.get() {
        patiently(async || store.run(&[Task::Drain], 200).await).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Walks conversations from their beginning; each has all that was acknowledged before.
async fn read_on(store: &Engine, counts: &[Cell<usize>], is_over: &Cell<bool>) {
    for turn in (0..).map(|turn| turn * 7 % CONVERSATIONS) {
        let known = counts[turn].get();
        let mut cursor = im_domain::MsgId::NONE;
        let mut seqs = Vec::new();
        loop {
            let one = query(&name(turn), cursor, 40, Direction::Down);
            let page = patiently(async || store.page(&actor("b"), vec![one.clone()]).await?.remove(0)).await;
            seqs.extend(page.messages.iter().map(|message| message.seq));
            cursor = page.cursor;
            if !page.has_more {
                break;
            }
        }
        assert!(seqs.len() >= known && seqs.iter().copied().eq(1..=seqs.len() as u64), "{known}: {seqs:?}");
        if is_over.get() {
            return;
        }
    }
}

/// Runs `step` while others write, drain and read on `stores`.
fn among_others(stores: &[Engine], counts: &[Cell<usize>], step: impl AsyncFnOnce()) {
    let (is_over, sent) = (Cell::new(false), Cell::new(0));
    let writers = (0..WRITERS).map(|n| write(&stores[n % stores.len()], n, counts, &is_over, &sent));
    let drainers = stores.iter().map(|store| drain_on(store, &is_over));
    let readers = stores.iter().map(|store| read_on(store, counts, &is_over));
    let step = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        step().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        is_over.set(true);
    };
    block_on(async { tokio::join!(step, join_all(writers), join_all(drainers), join_all(readers)) });
    assert!(sent.get() > WRITERS);
}

fn refused(store: &Engine) {
    let answer = block_on(store.ready());
    assert!(
        matches!(&answer, Err(Error::Internal { reason }) if reason.contains("list of servers has changed")),
        "{answer:?}"
    );
}

#[test]
fn from_two_databases_to_three_and_back_under_load() {
    let site = Site::new(2, 3);
    make_conversations(&on(&site, 2));
    let counts: Vec<Cell<usize>> = (0..CONVERSATIONS).map(|_| Cell::new(1)).collect();
    let all = || counts.iter().map(Cell::get).collect::<Vec<_>>();
    let total = || all().iter().sum::<usize>() + 1;
    let steps = mover(&site, None).0;
    let (two, three) = (on(&site, 2), on(&site, 3));
    refused(&three);

    among_others(&[on(&site, 2), on(&site, 2)], &counts, async || declare(&steps, 3).await.unwrap());
    // Two lists are in use until all instances have the new one.
    among_others(&[on(&site, 2), on(&site, 3)], &counts, async || ());
    assert!(block_on(finish(&steps)).is_err());
    among_others(&[on(&site, 3), on(&site, 3)], &counts, async || {
        let mut moved = BTreeSet::new();
        move_partitions(&steps, |one| assert!(moved.insert(one.partition))).await.unwrap();
        let expected = (0..=255).filter(|partition| place_of(*partition, 2) != place_of(*partition, 3));
        assert!(moved.into_iter().eq(expected));
        finish(&steps).await.unwrap();
    });
    refused(&two);
    assert_whole(&site, &three, &all());
    assert_at_place(&site, 3, total());

    among_others(&[on(&site, 3), on(&site, 3)], &counts, async || {
        declare(&steps, 2).await.unwrap();
        move_partitions(&steps, |_| {}).await.unwrap();
    });
    among_others(&[on(&site, 2), on(&site, 3)], &counts, async || ());
    among_others(&[on(&site, 2), on(&site, 2)], &counts, async || finish(&steps).await.unwrap());
    refused(&three);
    assert_whole(&site, &on(&site, 2), &all());
    assert_at_place(&site, 2, total());
    // The third is as if it had never been used.
    block_on(declare(&steps, 3)).unwrap();
}

/// Kills a step at its 1st, 2nd, 3rd … call, and calls it again, until it comes to its end.
pub fn at_every_call(
    site: &Site,
    step: impl AsyncFn(&Tiered<MortalRedis, MortalPostgres>) -> Result<()>,
    mut between: impl FnMut(),
) -> usize {
    let mut after = 0;
    loop {
        let (mortal, life) = mover(site, Some(Kill { after, last_is_made: after % 2 == 0 }));
        let outcome = block_on(step(&mortal));
        assert!(outcome.is_ok() || life.died(), "call {after}: {outcome:?}");
        if outcome.is_ok() {
            return after;
        }
        between();
        after += 1;
    }
}

#[test]
fn killed_at_any_call() {
    let site = Site::new(1, 3);
    make_conversations(&on(&site, 2));
    let (two, three) = (on(&site, 2), on(&site, 3));
    let mut counts = vec![1; CONVERSATIONS];
    let mut turn = 0;
    let mut goes_on = |store: &Engine| {
        for _ in 0..3 {
            turn += 1;
            let conversation = turn % CONVERSATIONS;
            let receipt = block_on(send_at_last(store, "a", &name(conversation), counts[conversation]));
            counts[conversation] += 1;
            assert_eq!(receipt.seq, counts[conversation] as u64);
            // The log of a partition that is on its way waits.
            block_on(store.run(&[Task::Drain], 1_000)).unwrap();
            let seen = walk(store, "b", &name(conversation), 50, Direction::Up);
            assert_eq!(seen.len(), counts[conversation]);
        }
    };
    let calls = at_every_call(&site, async |store| declare(store, 3).await, || goes_on(&two));
    assert!(calls > 5);
    let calls = at_every_call(&site, async |store| move_partitions(store, |_| {}).await, || goes_on(&three));
    assert!(calls > 40, "{calls}");
    let calls = at_every_call(&site, async |store| finish(store).await.or_else(over), || goes_on(&three));
    assert!(calls > 40, "{calls}");
    assert_whole(&site, &three, &counts);
    assert_at_place(&site, 3, counts.iter().sum::<usize>() + 1);
    refused(&two);
}

/// A step whose very last call was made and not answered is over.
fn over(error: Error) -> Result<()> {
    match &error {
        Error::Internal { reason } if reason.contains("no change of the databases") => Ok(()),
        _ => Err(error),
    }
}

#[test]
fn only_what_is_meant_is_declared() {
    let site = Site::new(1, 3);
    make_conversations(&on(&site, 2));
    let steps = mover(&site, None).0;
    let said = |answer: Result<()>, words: &str| {
        assert!(matches!(&answer, Err(Error::Internal { reason }) if reason.contains(words)), "{answer:?}");
    };
    said(block_on(move_partitions(&steps, |_| {})), "declare it first");
    said(block_on(finish(&steps)), "no change");
    for to in [0, 2, 4] {
        said(block_on(declare(&steps, to)), "give the longer");
    }
    let reversed: Vec<_> = site.postgres_urls().into_iter().rev().collect();
    said(block_on(declare(&engine_on(&site.redis_urls(), &reversed, Everysec), 3)), "not in use");
    let third = site.postgres_urls()[2].clone();
    drop(on(&site, 2));
    block_on(im_store::tiered::migrate(&NativePostgres::new(&third).unwrap(), 0)).unwrap();
    query_at(&third, "INSERT INTO conversation (cid, tenant, name, kind, history, member_count, create_time, update_time) VALUES (1, 't', 'c', 1, 0, 0, 0, 0)", vec![]).unwrap();
    said(block_on(declare(&steps, 3)), "not empty");
    query_at(&third, "DELETE FROM conversation", vec![]).unwrap();
    block_on(declare(&steps, 3)).unwrap();
    block_on(declare(&steps, 3)).unwrap();
    said(block_on(finish(&steps)), "move them first");
}

#[test]
fn from_one_redis_to_three_and_back_to_two() {
    let mut site = Site::new(1, 2);
    make_conversations(&site.engine());
    let mut counts = vec![1; CONVERSATIONS];
    for servers in [3, 2] {
        let old = site.engine();
        let before: Vec<Receipt> = (0..CONVERSATIONS).map(|n| send(&old, "a", &name(n), counts[n])).collect();
        counts.iter_mut().for_each(|count| *count += 1);
        while site.redis.len() < servers {
            site.redis.push(RedisServer::start(None));
        }
        let new: Vec<_> = site.redis_urls().iter().map(|url| NativeRedis::new(url).unwrap()).collect();
        block_on(change_redis(&old, &new, servers)).unwrap();
        block_on(change_redis(&old, &new, servers)).unwrap();
        site.redis.truncate(servers);
        refused(&old);
        let store = site.engine();
        assert_users(&store);
        let resumed = sync(&store, "b", "phone", sync_query(&name(3), None)).unwrap();
        assert_eq!(resumed.page.messages.len(), counts[3]);
        let next = send(&store, "a", &name(0), 100 + servers);
        assert!(next.seq > before[0].seq && next.msg_id > before[0].msg_id);
        assert_ne!(next.epoch, before[0].epoch, "{next:?}");
        counts[0] += 1;
        drain(&store);
        let seen: usize =
            (0..CONVERSATIONS).map(|n| walk(&store, "b", &name(n), 50, Direction::Up).len()).sum();
        assert_eq!(seen, counts.iter().sum::<usize>());
    }
}
