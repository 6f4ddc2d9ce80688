//! C30, C32: SQL is away for a while. Sends are acknowledged and what is hot is read meanwhile, what is
//! not says so, and everything is in SQL afterwards; where too much would wait, sends are refused,
//! and nothing is acknowledged and dropped.

use super::check::{exact, history};
use super::load::{Load, OWNER};
use super::stage::{Plan, Stage};
use super::upkeep::{drain, drained, until};
use super::{rounds, soak};
use im_tests::client::Client;
use im_tests::process::Signal;
use im_tests::routes::{PULL, SEND};
use im_tests::shape;
use im_tests::talk::{group, ids, pull, say_many, text};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::task::block_in_place;

const SPELL: Duration = Duration::from_millis(1_500);
const OUTAGE: Duration = Duration::from_secs(6);
const OUTAGE_OF_A_SOAK: Duration = Duration::from_secs(60);
/// Messages of a room that is read while SQL is away: many more than are kept hot.
const SHELVED: usize = 1_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c30_sends_and_hot_reads_go_on_without_sql() {
    rounds("c30_sends_and_hot_reads_go_on_without_sql", async |mut rng| {
        let Some(mut stage) = Stage::new(Plan::default()) else { return };
        let owner = stage.tenant(0).user(OWNER).fresh();
        let shelved = shelf(&stage, &owner).await;
        let mut load = Load::start(&stage, &mut rng).await;
        load.goes_on(SPELL).await;
        block_in_place(|| stage.postgres.stop(Signal::Int));
        // Those that are on their way may still get a refusal for SQL's sake.
        load.lasts(Duration::from_millis(500)).await;
        let began = Instant::now();
        let outage = if soak().is_some() { OUTAGE_OF_A_SOAK } else { OUTAGE };
        while began.elapsed() < outage {
            load.lasts(Duration::from_millis(200)).await;
            hot_reads_go_on(&owner, &shelved).await;
        }
        let accepted = load.acked_since(began);
        assert!(accepted.iter().all(|one| !one.persisted), "acknowledged as persisted without SQL");
        let mut senders: Vec<String> = accepted.into_iter().map(|one| one.sender).collect();
        senders.sort_unstable();
        senders.dedup();
        let ended = Instant::now();
        block_in_place(|| stage.postgres.start_again());
        load.goes_on(SPELL).await;
        let done = load.finish().await;
        assert_eq!(senders.len(), 12, "who asks for `accepted` gets it: {senders:?}");
        let during = done.refusals.iter().filter(|one| began <= one.at && one.at <= ended);
        let unasked: Vec<_> = during.filter(|one| !one.persisted).collect();
        assert!(unasked.is_empty(), "{} refused without need, such as {:?}", unasked.len(), unasked[0]);
        assert_eq!(ids(&history(&owner, "shelf").await), shelved);
        exact(&stage, &done, None).await;
    })
    .await;
}

/// A room of which only the newest are hot.
async fn shelf(stage: &Stage, owner: &Client) -> Vec<u64> {
    group(owner, "shelf", &[]).await;
    let all = ids(&say_many(owner, "shelf", SHELVED).await);
    drained(stage).await;
    all
}

async fn hot_reads_go_on(owner: &Client, shelved: &[u64]) {
    let newest = pull(owner, json!({"conversationId": "shelf", "limit": 20})).await;
    let mut wanted = shelved[SHELVED - 20..].to_vec();
    wanted.reverse();
    assert_eq!(ids(shape::list(&newest, "messages")), wanted);
    for request in [
        json!({"conversationId": "shelf", "lastMsgId": shelved[SHELVED / 4].to_string()}),
        json!({"conversationId": "shelf", "direction": "down"}),
    ] {
        owner.post(PULL, request).await.refused("sql_unavailable");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c32_what_would_wait_beyond_the_cap_is_refused_and_nothing_is_dropped() {
    let variables = vec!["backlog_max=50".to_owned()];
    let Some(mut stage) = Stage::new(Plan { variables, ..Plan::default() }) else { return };
    let owner = stage.tenant(0).user(OWNER).fresh();
    group(&owner, "room", &[]).await;
    drained(&stage).await;
    block_in_place(|| stage.postgres.stop(Signal::Int));
    let mut acked = Vec::new();
    let refusal = loop {
        let name = acked.len().to_string();
        let answer = owner.post(SEND, text("room", &name, &name)).await;
        if answer.status != 200 {
            break answer;
        }
        acked.push(shape::id(&answer.body, "msgId"));
        assert!(acked.len() <= 1_000, "nothing is refused");
    };
    refusal.refused("overloaded");
    println!("refused after {} messages", acked.len());
    assert!(acked.len() >= 40, "refused too early: {}", acked.len());
    // It stays so, for batches too, until SQL is back; then it passes by itself.
    owner.post(SEND, text("room", "again", "again")).await.refused("overloaded");
    let backlog = until(&stage, "waiting", |status| shape::int(status, "backlog") > 0).await;
    assert!(shape::int(&backlog, "backlog") >= acked.len() as u64, "{backlog}");
    block_in_place(|| stage.postgres.start_again());
    drained(&stage).await;
    let next = owner.patient(SEND, text("room", "after", "after")).await;
    acked.push(shape::id(&next, "msgId"));
    assert_eq!(ids(&history(&owner, "room").await), acked);
}

/// What was asked to be persisted is refused honestly, and stored once when it is sent again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c30_persisted_is_not_promised_without_sql() {
    let Some(mut stage) = Stage::new(Plan { schedule: Some("24h"), ..Plan::default() }) else { return };
    let owner = stage.tenant(0).user(OWNER).fresh();
    group(&owner, "room", &[]).await;
    drain(&stage).await;
    block_in_place(|| stage.postgres.stop(Signal::Int));
    let mut message = text("room", "1", "once");
    message["ack"] = "persisted".into();
    for _ in 0..3 {
        owner.post(SEND, message.clone()).await.refused("sql_unavailable");
    }
    block_in_place(|| stage.postgres.start_again());
    let receipt = super::cases::until_sent(&owner, &message).await;
    assert_eq!(receipt["ack"], "persisted");
    assert_eq!(ids(&history(&owner, "room").await), [shape::id(&receipt, "msgId")]);
    // It is in SQL, and not in Redis alone.
    stage.redis.flush_all();
    assert_eq!(ids(&history(&owner, "room").await), [shape::id(&receipt, "msgId")]);
}
