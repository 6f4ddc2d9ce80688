//! C01, C02, C25: what goes wrong on the way to SQL. A batch that fails for a while is not stepped over;
//! a message that SQL refuses, or an entry that is none, holds up nobody and is counted; a persister
//! that dies right after an acknowledgement loses nothing.

use super::cases::{key_of_partition, until_sent};
use super::check::history;
use super::load::OWNER;
use super::stage::{Plan, Stage};
use super::upkeep::{drained, until};
use im_tests::client::Client;
use im_tests::process::Signal;
use im_tests::talk::{group, ids, say, say_many, text};
use im_tests::{shape, sql};
use redis::cmd;
use std::time::Duration;
use tokio::task::block_in_place;

/// What every message's way into SQL passes: raises an error for some rows.
fn trap(stage: &Stage, condition: &str, state: &str) {
    let statements = format!(
        "CREATE OR REPLACE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           IF {condition} THEN RAISE EXCEPTION 'fault' USING ERRCODE = '{state}'; END IF;
           RETURN NEW;
         END $$;
         CREATE TRIGGER fault BEFORE INSERT ON message FOR EACH ROW EXECUTE FUNCTION fault()"
    );
    block_in_place(|| sql::run(&stage.database(), &statements));
}

fn untrap(stage: &Stage) {
    block_in_place(|| sql::run(&stage.database(), "DROP TRIGGER fault ON message"));
}

async fn stage_with_rooms() -> Option<(Stage, Client)> {
    let stage = Stage::new(Plan::default())?;
    let owner = stage.tenant(0).user(OWNER).fresh();
    for room in ["room", "other"] {
        group(&owner, room, &[]).await;
    }
    // So that the tables are there.
    say(&owner, "other", "first").await;
    drained(&stage).await;
    Some((stage, owner))
}

/// Reads both rooms from SQL alone.
async fn in_sql(stage: &Stage, owner: &Client, room: &[u64], other: &[u64]) {
    block_in_place(|| stage.redis.flush_all());
    assert_eq!(ids(&history(owner, "room").await), room);
    assert_eq!(ids(&history(owner, "other").await)[1..], *other);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c01_a_batch_that_fails_for_a_while_is_not_stepped_over() {
    let Some((stage, owner)) = stage_with_rooms().await else { return };
    // Insufficient resources: nobody's fault, and it passes.
    trap(&stage, "to_jsonb(NEW)::text LIKE '%held-up%'", "53200");
    let mut room = vec![shape::id(&say(&owner, "room", "held-up").await, "msgId")];
    room.extend(ids(&say_many(&owner, "room", 120).await));
    let other = ids(&say_many(&owner, "other", 120).await);
    // The others are not held up, and the failing one goes on waiting.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let status = until(&stage, "waiting", |status| shape::int(status, "backlog") > 0).await;
    assert_eq!(status["deadLetters"], 0, "it has not had its time: {status}");
    assert_eq!(ids(&history(&owner, "room").await), room, "and is read meanwhile");
    untrap(&stage);
    let status = drained(&stage).await;
    assert_eq!(status["deadLetters"], 0, "{status}");
    in_sql(&stage, &owner, &room, &other).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c01_a_message_that_sql_refuses_holds_up_nobody() {
    let Some((stage, owner)) = stage_with_rooms().await else { return };
    trap(&stage, "to_jsonb(NEW)::text LIKE '%poison%'", "22023");
    let before = ids(&say_many(&owner, "room", 60).await);
    say(&owner, "room", "poison").await;
    let more: Vec<_> = (0..60).map(|n| text("room", &format!("after-{n}"), "after")).collect();
    let after = ids(&im_tests::talk::send_batch(&owner, &more).await);
    let other = ids(&say_many(&owner, "other", 120).await);
    let status = drained(&stage).await;
    assert_eq!(status["deadLetters"], 1, "{status}");
    untrap(&stage);
    in_sql(&stage, &owner, &[before, after].concat(), &other).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c25_an_entry_that_is_none_is_put_aside_and_the_rest_flows() {
    let Some((stage, owner)) = stage_with_rooms().await else { return };
    let log = key_of_partition(&stage.tenant(0), "room", "log");
    let mut room = ids(&say_many(&owner, "room", 30).await);
    let bad: [(&str, &[u8]); 4] =
        [("v", b"no entry at all"), ("v", b"\xff\xfe\x00m\n"), ("v", b""), ("other", b"field")];
    for (field, value) in bad {
        block_in_place(|| stage.redis.run::<String>(cmd("XADD").arg(&log).arg("*").arg(field).arg(value)));
        let more = text("room", &format!("after-{}", room.len()), "after");
        room.push(shape::id(&im_tests::talk::send(&owner, more).await, "msgId"));
    }
    let other = ids(&say_many(&owner, "other", 30).await);
    let status = drained(&stage).await;
    assert_eq!(status["deadLetters"], bad.len(), "{status}");
    in_sql(&stage, &owner, &room, &other).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c02_the_persister_killed_right_after_an_ack_loses_nothing() {
    let Some((mut stage, owner)) = stage_with_rooms().await else { return };
    let (mut room, mut other) = (Vec::new(), Vec::new());
    for round in 0..3 {
        let accepted = text("room", &format!("accepted-{round}"), "accepted");
        let mut persisted = text("other", &format!("persisted-{round}"), "persisted");
        persisted["ack"] = "persisted".into();
        other.push(shape::id(&until_sent(&owner, &persisted).await, "msgId"));
        room.push(shape::id(&until_sent(&owner, &accepted).await, "msgId"));
        block_in_place(|| {
            stage.hosts[0].stop(Signal::Kill);
            stage.hosts[0].start_again();
        });
    }
    // What was persisted is in SQL without another drain.
    let found = sql_count(&stage, "persisted-");
    assert_eq!(found, other.len().to_string());
    drained(&stage).await;
    in_sql(&stage, &owner, &room, &other).await;
    redis_gone(&mut stage, &owner, &room).await;
}

fn sql_count(stage: &Stage, name: &str) -> String {
    let statement = format!("SELECT count(*) FROM message m WHERE to_jsonb(m)::text LIKE '%{name}%'");
    block_in_place(|| sql::value(&stage.database(), &statement))
}

/// Without Redis a page is whole or refused, never a part of what there is.
async fn redis_gone(stage: &mut Stage, owner: &Client, room: &[u64]) {
    use im_tests::routes::PULL;
    block_in_place(|| stage.redis.stop(Signal::Kill));
    let request = serde_json::json!({"conversationId": "room", "limit": 100, "direction": "down"});
    let answer = owner.post(PULL, request).await;
    match answer.status {
        200 => assert_eq!(ids(shape::list(&answer.body, "messages")), room),
        _ => drop(answer.refused("hot_unavailable")),
    }
}
