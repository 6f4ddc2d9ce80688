//! Proves that `archive/run` packs old messages into cold segments, says so, and that nobody sees it: every way to
//! read gives what it gave before, and what is taken back then is gone. The server is one of the suite's own, on which
//! messages are old after a second and which does nothing by itself; skipped where `IM_URL` is set.

use im_tests::client::Client;
use im_tests::routes::{AROUND, GET, RECALL, RUN, STATUS, SYNC, VERSIONS};
use im_tests::server::{Server, Setup};
use im_tests::shape;
use im_tests::talk::{conversation, group, say, say_many, send, text};
use im_tests::tenant::Tenant;
use im_tests::walk::{Direction, pull_all, pull_where, sync_all};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const OLD_MS: u64 = 1_000;
const PATIENCE: Duration = Duration::from_secs(60);

fn server(variables: &[&str]) -> Option<Server> {
    let all =
        [format!("tier_after_ms={OLD_MS}")].into_iter().chain(variables.iter().map(ToString::to_string));
    let args = all.flat_map(|variable| ["--var".to_owned(), variable]).collect();
    // Later than any test: what moves here is moved by a test's own call.
    Server::own(Setup { args, schedule: Some("24h"), ..Setup::default() })
}

async fn tiers(tenant: &Tenant) -> (u64, u64) {
    let status = tenant.service().get(STATUS).await.ok();
    (shape::int(&status["tiers"], "sql"), shape::int(&status["tiers"], "cold"))
}

async fn run(tenant: &Tenant) -> Value {
    tenant.service().ok(RUN, json!({"tasks": ["drain", "tier"]})).await
}

/// Runs the upkeep until so many messages have moved.
async fn pack(tenant: &Tenant, count: u64) {
    let (began, mut moved) = (Instant::now(), 0);
    while moved < count {
        assert!(began.elapsed() < PATIENCE, "{moved} messages have moved, not {count}");
        tokio::time::sleep(Duration::from_millis(100)).await;
        moved += shape::int(&run(tenant).await, "tiered");
    }
    assert_eq!(moved, count);
}

/// What every way to read gives.
async fn seen(reader: &Client, ids: &[Value]) -> Vec<Value> {
    let around = json!({"conversationId": "room", "msgId": ids[70], "before": 20, "after": 90});
    let images = json!({"conversationId": "room", "types": ["image"], "limit": 3, "direction": "down"});
    vec![
        json!(pull_all(reader, "room", Direction::Down, 100).await),
        json!(pull_all(reader, "room", Direction::Up, 7).await),
        json!(pull_where(reader, images).await),
        reader.ok(GET, json!({"conversationId": "room", "msgIds": ids[40..120]})).await,
        reader.ok(AROUND, around).await,
        conversation(reader, "room").await,
    ]
}

#[tokio::test]
async fn old_messages_are_packed_and_nobody_sees_it() {
    let Some(server) = server(&[]) else { return };
    let tenant = Tenant::on(&server, "cold");
    let (ann, bob) = (tenant.user("ann"), tenant.user("bob"));
    group(&ann, "room", &["bob"]).await;
    let mut receipts = say_many(&ann, "room", 150).await;
    let mut reply = text("room", "reply", "reply");
    reply["replyTo"] = json!({"msgId": receipts[3]["msgId"]});
    reply["type"] = json!("image");
    receipts.push(send(&bob, reply).await);
    receipts.push(say(&ann, "room", "last 😀 ś").await);
    let ids: Vec<Value> = receipts.iter().map(|receipt| receipt["msgId"].clone()).collect();
    let before = seen(&bob, &ids).await;
    assert_eq!(tiers(&tenant).await.1, 0);
    pack(&tenant, 151).await;
    assert_eq!(tiers(&tenant).await, (1, 151));
    assert_eq!(seen(&bob, &ids).await, before);
    let all = sync_all(&bob, json!({"conversationId": "room", "lastMsgId": 0, "limit": 40})).await;
    assert_eq!(json!(all), before[0]);
    let rest = bob.ok(SYNC, json!({"conversationId": "room", "lastMsgId": ids[150]})).await;
    assert_eq!(shape::list(&rest, "messages").len(), 1);
    // Taken back, it is gone, packed again or not.
    let body = json!({"conversationId": "room", "msgId": ids[9]});
    tenant.admin().ok(RECALL, body.clone()).await;
    for _ in 0..2 {
        let shown = pull_all(&bob, "room", Direction::Down, 100).await;
        assert_eq!((&shown[9]["status"], &shown[9]["content"]), (&json!("recalled"), &json!("")));
        assert_eq!(shown.len(), 153);
        let versions = tenant.admin().ok(VERSIONS, body.clone()).await;
        assert_eq!(versions["versions"][0]["content"], "10");
        run(&tenant).await;
    }
    assert_eq!(tiers(&tenant).await, (2, 151));
}

#[tokio::test]
async fn outside_its_hours_nothing_is_packed() {
    // One minute of the day, which is not within twelve hours.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let hour = (now / 3_600 + 12) % 24;
    let Some(server) = server(&[&format!("tier_window={hour:02}:00-{hour:02}:01")]) else { return };
    let tenant = Tenant::on(&server, "cold-window");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    say_many(&ann, "room", 150).await;
    tokio::time::sleep(Duration::from_millis(OLD_MS + 100)).await;
    assert_eq!(run(&tenant).await["tiered"], 0);
    assert_eq!(tiers(&tenant).await, (150, 0));
}
