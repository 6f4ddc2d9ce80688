//! C12, C21, C37 where they need servers of the suite's own: retries after the hot store has forgotten
//! a message, a hot store that has less than is thought, and two hosts on the same servers.

use super::check::history;
use super::load::OWNER;
use super::stage::{Plan, Stage};
use super::upkeep::{drain, drained};
use im_domain::partition::partition_of;
use im_domain::{ConversationId, Tenant as Name};
use im_tests::client::Client;
use im_tests::routes::{SEND, SYNC};
use im_tests::talk::{contents, group, ids, pull, say, say_many, text};
use im_tests::tenant::Tenant;
use im_tests::token::now_seconds;
use im_tests::walk::{Direction, pull_all, sync_all};
use im_tests::{seed, shape};
use redis::cmd;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::task::{JoinSet, block_in_place};

/// How long a passing refusal is waited out.
const PATIENCE: Duration = Duration::from_secs(60);

/// A key of the partition that a conversation lives in.
pub fn key_of_partition(tenant: &Tenant, conversation: &str, kind: &str) -> String {
    let name = Name::parse(&tenant.name).expect("a tenant's name");
    let id = ConversationId::parse(conversation).expect("a conversation's id");
    format!("im:{{{}}}:{kind}", partition_of(&name, &id))
}

/// A key of a conversation.
pub fn key(tenant: &Tenant, conversation: &str, kind: &str) -> String {
    format!("{}:{}/{conversation}", key_of_partition(tenant, conversation, kind), tenant.name)
}

/// Asks until it is answered, whatever passing refusal comes first.
pub async fn until_ok(client: &Client, route: &str, body: &Value) -> Value {
    let began = Instant::now();
    loop {
        match client.try_post(route, body).await {
            Some(answer) if answer.status != 503 => return answer.ok(),
            refusal => {
                let refusal = refusal.map(|answer| answer.body);
                assert!(began.elapsed() < PATIENCE, "refused for {PATIENCE:?}: {refusal:?}");
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Sends one message until it is taken.
pub async fn until_sent(sender: &Client, message: &Value) -> Value {
    let receipt = until_ok(sender, SEND, message).await;
    shape::receipt(&receipt);
    receipt
}

async fn twenty_at_once(hosts: &[Client], message: &Value) -> Vec<Value> {
    let mut tries = JoinSet::new();
    for n in 0..20 {
        let (sender, message) = (hosts[n % hosts.len()].fresh(), message.clone());
        tries.spawn(async move { until_sent(&sender, &message).await });
    }
    tries.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c12_retries_on_two_hosts_at_once_are_one_message() {
    let Some(stage) = Stage::new(Plan { hosts: 2, ..Plan::default() }) else { return };
    let hosts = stage.user(OWNER);
    group(&hosts[0], "room", &[]).await;
    for round in 0..5 {
        let receipts = twenty_at_once(&hosts, &text("room", &round.to_string(), "once")).await;
        let firsts = receipts.iter().filter(|receipt| receipt["duplicate"] == false).count();
        assert_eq!(firsts, 1, "exactly one was the first");
        assert!(receipts.iter().all(|receipt| receipt["msgId"] == receipts[0]["msgId"]));
    }
    assert_eq!(contents(&hosts[1], "room").await.len(), 5);
}

/// With its marker gone, SQL knows a message. `clientTime` tells that it may be an old one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c12_a_retry_after_its_marker_has_expired_is_one_message() {
    let variables = vec!["dedup_seconds=1".to_owned()];
    let Some(stage) = Stage::new(Plan { variables, ..Plan::default() }) else { return };
    let owner = stage.tenant(0).user(OWNER).fresh();
    group(&owner, "room", &[]).await;
    let mut aged = text("room", "aged", "aged");
    aged["clientTime"] = (now_seconds() * 1_000).into();
    let ageless = text("room", "ageless", "ageless");
    let firsts = [until_sent(&owner, &aged).await, until_sent(&owner, &ageless).await];
    drained(&stage).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let marker = |name: &str| format!("{}:{OWNER}:{name}", key(&stage.tenant(0), "room", "d"));
    for name in ["aged", "ageless"] {
        let left: i64 = block_in_place(|| stage.redis.run(cmd("EXISTS").arg(marker(name))));
        assert_eq!(left, 0, "the marker of {name} is still there");
    }
    for again in twenty_at_once(std::slice::from_ref(&owner), &aged).await {
        assert_eq!(again["duplicate"], true, "{again}");
        assert_eq!(again["msgId"], firsts[0]["msgId"]);
        assert_eq!(again["seq"], firsts[0]["seq"]);
    }
    twenty_at_once(std::slice::from_ref(&owner), &ageless).await;
    let next = say(&owner, "room", "next").await;
    drained(&stage).await;
    for wiped in [false, true] {
        if wiped {
            block_in_place(|| stage.redis.flush_all());
        }
        // Where a later copy was taken back, `seq` may have a hole.
        let found = ids(&history(&owner, "room").await);
        let wanted = [&firsts[0], &firsts[1], &next].map(|receipt| shape::id(receipt, "msgId"));
        assert_eq!(found, wanted, "one message, one id; wiped: {wiped}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c21_what_the_hot_stream_has_lost_comes_from_sql() {
    let mut rng = seed::rng("c21_what_the_hot_stream_has_lost_comes_from_sql");
    let Some(stage) = Stage::new(Plan { schedule: Some("24h"), ..Plan::default() }) else { return };
    let owner = stage.tenant(0).user(OWNER).fresh();
    group(&owner, "room", &[]).await;
    let mut all = ids(&say_many(&owner, "room", 150).await);
    drain(&stage).await;
    // And some that only Redis has.
    let fresh: Vec<Value> = (0..20).map(|n| text("room", &format!("fresh-{n}"), "fresh")).collect();
    all.extend(ids(&im_tests::talk::send_batch(&owner, &fresh).await));
    let stream = key(&stage.tenant(0), "room", "m");
    for left in [100, 60, 21] {
        block_in_place(|| stage.redis.run::<i64>(cmd("XTRIM").arg(&stream).arg("MAXLEN").arg(left)));
        let at = rng.usize(..all.len() - 1);
        let request = json!({
            "conversationId": "room", "lastMsgId": all[at].to_string(), "limit": 100, "direction": "down",
        });
        let page = pull(&owner, request).await;
        let end = all.len().min(at + 1 + 100);
        assert_eq!(ids(shape::list(&page, "messages")), all[at + 1..end], "{left} left, after {at}");
        for way in Direction::BOTH {
            let mut found = ids(&pull_all(&owner, "room", way, 17).await);
            found.sort_unstable();
            assert_eq!(found, all, "{left} left, {}", way.name());
        }
        let device = stage.tenant(0).device(OWNER, &format!("device-{left}"));
        assert_eq!(ids(&sync_all(&device, json!({"conversationId": "room", "limit": 40})).await), all);
        let page = owner.ok(SYNC, json!({"conversationId": "room", "lastMsgId": all[0].to_string()})).await;
        assert_eq!(ids(shape::list(&page, "messages")), all[1..101], "{left} left");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c37_what_one_host_has_taken_the_other_has_at_once() {
    let Some(stage) = Stage::new(Plan { hosts: 2, ..Plan::default() }) else { return };
    let hosts = stage.user(OWNER);
    group(&hosts[0], "room", &[]).await;
    for n in 0..200 {
        let (here, there) = (&hosts[n % 2], &hosts[(n + 1) % 2]);
        let receipt = say(here, "room", &n.to_string()).await;
        let page = pull(there, json!({"conversationId": "room", "limit": 1})).await;
        assert_eq!(page["messages"][0]["msgId"], receipt["msgId"], "message {n}");
        assert_eq!(page["messages"][0]["content"], n.to_string());
        assert_eq!(page["headSeq"], receipt["seq"]);
    }
}
