//! What the tiered engine does when a Redis server is not the same any more: it was ended and started
//! again, an older copy of its data was put back, or another list of servers is given. Each case on real
//! servers.

use super::backend::block_on;
use super::site::*;
use super::talk::*;
use super::tiered::Engine;
use crate::servers::postgres::{Database, query_at};
use crate::servers::proxy::Proxy;
use crate::servers::redis::{RedisServer, command_at};
use futures::future::join_all;
use im_domain::conversation::{ConversationKind, History, NewConversation};
use im_domain::message::{Ack, Receipt};
use im_domain::page::Direction;
use im_domain::storage::Storage;
use im_domain::{Error, MsgId, Tenant};
use im_store::redis::Value;
use im_store::tiered::HotDurability::{self, Always, Everysec};
use std::collections::BTreeSet;
use std::time::Duration;

fn contents(store: &impl Storage, reader: &str) -> Vec<String> {
    walk(store, reader, "c", 3, Direction::Up).into_iter().map(|message| message.content).collect()
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("message {n}")).collect()
}

/// What a user sees of `c`: unread, members, head.
fn seen(store: &impl Storage, reader: &str) -> (u64, u64, u64) {
    let one = block_on(store.conversation(&actor(reader), &id("c"))).unwrap();
    (one.unread, one.member_count, one.head_seq)
}

fn assert_above(next: &Receipt, earlier: &[Receipt]) {
    let is_above = |old: &Receipt| old.msg_id < next.msg_id && old.seq < next.seq;
    assert!(earlier.iter().all(is_above), "{earlier:?}, {next:?}");
}

/// A conversation of `a` and `b` with messages 0 to 5, of which SQL has the first half, and where `b`
/// has read the fifth.
fn half_drained(store: &Engine) -> Vec<Receipt> {
    group(store, "c", &["a", "b"]);
    let mut sent: Vec<_> = (0..3).map(|n| send(store, "a", "c", n)).collect();
    drain(store);
    sent.extend((3..6).map(|n| send(store, "a", "c", n)));
    sync(store, "b", "phone", sync_query("c", Some(sent[4].msg_id))).unwrap();
    sent
}

/// Sends a message after a restart and looks at what is there, before and after a drain.
fn goes_on(store: &Engine, sent: &[Receipt], n: usize) -> Receipt {
    let next = block_on(send_at_last(store, "a", "c", n));
    assert_above(&next, sent);
    for _ in 0..2 {
        assert_eq!(contents(store, "b"), numbered(n + 1));
        drain(store);
    }
    next
}

#[test]
fn a_restart_begins_a_new_epoch_and_what_survived_is_served() {
    let mut site = Site::keeping(Everysec);
    let store = site.engine();
    let sent = half_drained(&store);
    // Longer than Redis keeps anything from the disk.
    std::thread::sleep(Duration::from_millis(1_200));
    site.redis[0].restart();
    let next = goes_on(&store, &sent, 6);
    assert_ne!(next.epoch, sent[0].epoch);
    let resumed = sync(&store, "b", "phone", sync_query("c", None)).unwrap();
    assert_eq!((resumed.position, resumed.page.messages.len()), (sent[4].msg_id, 2));
}

#[test]
fn a_restart_is_no_loss_when_every_write_is_on_disk() {
    let mut site = Site::keeping(Always);
    let store = site.promising(Always);
    let mut sent = half_drained(&store);
    for n in 6..9 {
        site.redis[0].restart();
        let next = goes_on(&store, &sent, n);
        assert_eq!((&next.epoch, next.seq), (&sent[0].epoch, n as u64 + 1));
        sent.push(next);
    }
    let resumed = sync(&store, "b", "phone", sync_query("c", None)).unwrap();
    assert_eq!(resumed.position, sent[4].msg_id);
}

/// What an engine has learned of a server holds for one run of it, however many requests are under way
/// when it ends.
#[test]
fn one_engine_through_many_restarts_under_load() {
    let mut site = Site::keeping(Everysec);
    let store = site.engine();
    group(&store, "c", &["a"]);
    // A new conversation is as young as a message: with `Everysec` a kill may take it, before a drain.
    drain(&store);
    let mut sent: Vec<Receipt> = Vec::new();
    for round in 0..6 {
        let sends = (0..60).map(|n| send_at_last(&store, "a", "c", round * 60 + n));
        let receipts = std::thread::scope(|scope| {
            scope.spawn(|| site.redis[0].restart());
            block_on(join_all(sends))
        });
        let last = block_on(send_at_last(&store, "a", "c", 1_000 + round));
        assert_above(&last, &sent);
        assert!(sent.last().is_none_or(|before| before.epoch != last.epoch));
        sent.extend(receipts);
        sent.push(last);
        drain(&store);
    }
    each_is_another(&sent);
}

fn each_is_another(sent: &[Receipt]) {
    assert_eq!(sent.iter().map(|receipt| receipt.msg_id).collect::<BTreeSet<_>>().len(), sent.len());
    assert_eq!(sent.iter().map(|receipt| receipt.seq).collect::<BTreeSet<_>>().len(), sent.len());
}

#[test]
fn an_older_copy_with_everysec() {
    an_older_copy_is_noticed(Everysec);
}

#[test]
fn an_older_copy_where_every_write_is_on_disk() {
    an_older_copy_is_noticed(Always);
}

fn an_older_copy_is_noticed(durability: HotDurability) {
    let mut site = Site::keeping(durability);
    let store = site.promising(durability);
    let mut sent = half_drained(&store);
    let copy = site.redis[0].copy();
    drain(&store);
    block_on(store.change_members(&actor("a"), &id("c"), add("late"))).unwrap();
    sent.extend((6..9).map(|n| send(&store, "a", "c", n)));
    sync(&store, "b", "phone", sync_query("c", Some(sent[7].msg_id))).unwrap();
    let before = [seen(&store, "a"), seen(&store, "b"), seen(&store, "late")];
    drain(&store);
    site.redis[0].kill();
    site.redis[0].put_back(&copy);
    site.redis[0].start_again();
    let status = block_on(patiently(async || {
        store.ready().await?;
        store.status(&Tenant::parse("acme").unwrap()).await
    }));
    // What the copy's log holds is in SQL, and is passed over when its turn comes.
    assert_eq!(status.tiers.sql, 9);
    for _ in 0..2 {
        assert_eq!([seen(&store, "a"), seen(&store, "b"), seen(&store, "late")], before);
        assert_eq!(contents(&store, "late"), numbered(9));
        drain(&store);
    }
    let resumed = sync(&store, "b", "phone", sync_query("c", None)).unwrap();
    assert_eq!((resumed.position, resumed.page.messages.len()), (sent[7].msg_id, 1));
    let next = goes_on(&store, &sent, 9);
    assert_ne!(next.epoch, sent[0].epoch);
    assert!(append(&store, vec![draft("a", "c", "a-5", "message 5")])[0].as_ref().unwrap().duplicate);
}

#[test]
fn two_engines_that_adopt_at_once_agree() {
    let site = Site::new(1, 1);
    let stores = [site.engine(), site.engine()];
    group(&stores[0], "c", &["a", "b"]);
    let mut sent: Vec<Receipt> = Vec::new();
    for round in 0..15 {
        drain(&stores[0]);
        command_at(site.redis[0].url(), "FLUSHALL", Vec::new()).unwrap();
        let of = |store, sender, from| {
            join_all((0..50_usize).map(move |n| send_at_last(store, sender, "c", from + n)))
        };
        let both = async { tokio::join!(of(&stores[0], "a", round * 50), of(&stores[1], "b", round * 50)) };
        let (of_a, of_b) = block_on(both);
        let last = stores.each_ref().map(|store| {
            let sender = actor("a");
            let one = vec![draft("a", "c", &format!("{round}-{:p}", &raw const *store), "last")];
            block_on(store.append(&sender, one, Ack::Accepted)).unwrap().remove(0).unwrap()
        });
        assert_eq!(last[0].epoch, last[1].epoch);
        sent.extend(of_a.into_iter().chain(of_b).chain(last));
        each_is_another(&sent);
    }
    drain(&stores[1]);
    assert_eq!(walk(&stores[0], "a", "c", 200, Direction::Down).len(), sent.len());
}

/// Everything that servers hold, as one text.
fn everything(site: &Site) -> Vec<String> {
    const KEYS: &str = "
        local keys, out = redis.call('KEYS', '*'), {}
        table.sort(keys)
        for _, key in ipairs(keys) do out[#out + 1] = key .. ' ' .. redis.sha1hex(redis.call('DUMP', key)) end
        return table.concat(out, '\\n')";
    const ROWS: &str = "SELECT concat((SELECT string_agg(t::text, '|' ORDER BY t::text) FROM layout t),
        (SELECT string_agg(t::text, '|' ORDER BY t::text) FROM partition_state t),
        (SELECT string_agg(t::text, '|' ORDER BY t::text) FROM conversation t),
        (SELECT string_agg(t::text, '|' ORDER BY t::text) FROM member t),
        (SELECT string_agg(t::text, '|' ORDER BY t::text) FROM message t))";
    let mut all = Vec::new();
    for server in &site.redis {
        let reply = command_at(server.url(), "EVAL", im_store::arguments![KEYS, "0"]).unwrap();
        let Value::Bytes(hash) = &reply[0] else { panic!("{reply:?}") };
        all.push(String::from_utf8(hash.clone()).unwrap());
    }
    for database in &site.databases {
        all.push(query_at(&database.url(), ROWS, Vec::new()).unwrap()[0].text().unwrap());
    }
    all
}

/// Calls every operation and gives what each answers.
fn every_operation(store: &Engine) -> Vec<(&'static str, Option<Error>)> {
    let reader = actor("a");
    let new = NewConversation {
        id: Some(id("new")),
        kind: ConversationKind::Group,
        members: vec![user("b")],
        history: History::All,
    };
    block_on(async {
        let one = draft("a", "c", "refused", "refused");
        let page = query("c", MsgId::NONE, 5, Direction::Up);
        let phone = im_domain::DeviceId::parse("phone").unwrap();
        let append = store.append(&reader, vec![one], Ack::Accepted).await;
        let pages = store.page(&reader, vec![page]).await;
        vec![
            ("ready", store.ready().await.err()),
            ("append", append.and_then(|mut receipts| receipts.remove(0)).err()),
            ("page", pages.and_then(|mut pages| pages.remove(0)).err()),
            ("get", store.get(&reader, &id("c"), &[MsgId::MAX]).await.err()),
            ("hide", store.hide(&reader, &id("c"), &[MsgId::MAX]).await.err()),
            ("create", store.create(&reader, new).await.err()),
            ("change_members", store.change_members(&reader, &id("c"), add("z")).await.err()),
            ("conversation", store.conversation(&reader, &id("c")).await.err()),
            ("list", store.list(&reader, "", 10).await.err()),
            ("sync", store.sync(&reader, &phone, sync_query("c", None)).await.err()),
            ("run", store.run(&[], 1_000).await.err()),
            ("status", store.status(&reader.tenant).await.err()),
        ]
    })
}

#[test]
fn another_list_of_servers_is_refused_and_nothing_is_written() {
    let site = Site::new(2, 2);
    let (redis, databases) = (site.redis_urls(), site.postgres_urls());
    let store = site.engine();
    group(&store, "c", &["a", "b"]);
    (0..3).for_each(|n| drop(send(&store, "a", "c", n)));
    drain(&store);
    block_on(store.list(&actor("a"), "", 10)).unwrap();
    let (one_redis, one_database) = (RedisServer::start(None), Database::create());
    let reversed = |list: &[String]| list.iter().rev().cloned().collect::<Vec<_>>();
    let more = |list: &[String], one: &str| [list, &[one.to_owned()]].concat();
    let before_all = |list: &[String], one: &str| [&[one.to_owned()], list].concat();
    let wrong = [
        ("redis reversed", reversed(&redis), databases.clone(), "Redis server"),
        ("redis dropped", redis[..1].to_vec(), databases.clone(), "Redis server"),
        ("redis added", more(&redis, one_redis.url()), databases.clone(), "Redis server"),
        ("databases reversed", redis.clone(), reversed(&databases), "database 1 of 2"),
        ("database dropped", redis.clone(), databases[..1].to_vec(), "database 1 of 1"),
        ("first database dropped", redis.clone(), databases[1..].to_vec(), "database 1 of 1"),
        ("database added", redis.clone(), more(&databases, &one_database.url()), "database 1 of 3"),
        ("database put first", redis.clone(), before_all(&databases, &one_database.url()), "of 3"),
        (
            "another database",
            redis.clone(),
            before_all(&databases[1..], &one_database.url()),
            "database 1 of 2",
        ),
    ];
    let before = everything(&site);
    for (what, redis, databases, place) in wrong {
        let other = engine_on(&redis, &databases, Everysec);
        for (operation, answer) in every_operation(&other) {
            let told = matches!(&answer, Some(Error::Internal { reason }) if reason.contains(place));
            assert!(told, "{what}, {operation}: {answer:?}");
        }
        for (before, after) in before.iter().zip(everything(&site)) {
            let changed = after.lines().find(|line| !before.contains(*line));
            assert!(*before == after, "{what}: something was written: {changed:?}");
        }
        let tables = query_at(
            &one_database.url(),
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'",
            vec![],
        );
        assert_eq!(tables.unwrap()[0].int().unwrap(), 0, "{what}");
        let keys = command_at(one_redis.url(), "DBSIZE", Vec::new()).unwrap();
        assert_eq!(keys, [Value::Integer(0)], "{what}");
    }
    assert_eq!(send(&store, "a", "c", 3).seq, 4);
    assert_eq!(contents(&store, "b"), numbered(4));
}

#[test]
fn a_database_that_has_lost_everything_is_noticed() {
    let site = Site::new(1, 1);
    let store = site.engine();
    half_drained(&store);
    let empty = Database::create();
    let emptied = engine_on(&site.redis_urls(), &[empty.url()], Everysec);
    let answer = block_on(emptied.ready());
    assert!(matches!(&answer, Err(Error::Internal { reason }) if reason.contains("has lost")), "{answer:?}");
    drain(&store);
}

#[test]
fn an_adoption_waits_for_sql() {
    let site = Site::new(1, 1);
    let (proxy, by_proxy) = Proxy::before(&site.databases[0].url());
    let store = engine_on(&site.redis_urls(), &[by_proxy], Everysec);
    let sent = half_drained(&store);
    drain(&store);
    command_at(site.redis[0].url(), "FLUSHALL", Vec::new()).unwrap();
    proxy.cut();
    for _ in 0..2 {
        for (operation, answer) in every_operation(&store) {
            // The status is what an operator needs to see then.
            let expected = if operation == "status" {
                answer.is_none()
            } else {
                matches!(answer, Some(Error::SqlUnavailable { .. }))
            };
            assert!(expected, "{operation}: {answer:?}");
        }
    }
    proxy.mend();
    let next = goes_on(&store, &sent, 6);
    assert_ne!(next.epoch, sent[0].epoch);
}
