//! Proves that the host does the upkeep by itself: on a server whose manifest asks for it every
//! second and which keeps messages for two, expired messages are purged though nobody calls
//! `archive/run`, again and again. Skipped where `IM_URL` is set.

use im_tests::routes::STATUS;
use im_tests::server::{Server, Setup};
use im_tests::shape;
use im_tests::talk::{conversation, group, say, say_many};
use im_tests::tenant::Tenant;
use serde_json::Value;
use std::time::{Duration, Instant};

const RETENTION: Duration = Duration::from_millis(2_000);
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);

/// What is kept, and what is yet to be moved to where it stays.
fn kept(status: &Value) -> u64 {
    ["hot", "sql"].map(|tier| shape::int(&status["tiers"], tier)).iter().sum()
}

/// When the last run began; none: there was none.
fn last_run(status: &Value) -> Option<u64> {
    status["lastRun"].is_object().then(|| shape::int(&status["lastRun"], "at"))
}

/// Asks for the status until it is as wanted.
async fn until(tenant: &Tenant, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let status = tenant.service().get(STATUS).await.ok();
        if is_so(&status) {
            return status;
        }
        assert!(began.elapsed() < PATIENCE, "not {what} after {PATIENCE:?}: {status}");
        tokio::time::sleep(POLL).await;
    }
}

#[tokio::test]
async fn expired_messages_are_purged_though_nobody_calls() {
    let args = vec!["--var".to_owned(), format!("retention_ms={}", RETENTION.as_millis())];
    let setup = Setup { args, schedule: Some("1s"), ..Setup::default() };
    let Some(server) = Server::own(setup) else { return };
    let tenant = Tenant::on(&server, "schedule");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let sent = Instant::now();
    say_many(&ann, "room", 150).await;
    let before = until(&tenant, "moved", |status| shape::int(status, "backlog") == 0).await;
    if sent.elapsed() < RETENTION {
        assert_eq!(kept(&before), 150, "{before}");
    }
    let purged = until(&tenant, "purged", |status| kept(status) == 0).await;
    assert!(sent.elapsed() >= RETENTION, "purged before its time: {purged}");
    // A run tells of itself when it is over.
    let purged = until(&tenant, "told", |status| last_run(status) > last_run(&before)).await;
    let idle = until(&tenant, "run again", |status| last_run(status) > last_run(&purged)).await;
    assert_eq!(idle["lastRun"]["deadLettered"], 0, "{idle}");
    // It goes on: what comes later goes too, and what it goes from stays.
    assert_eq!(say(&ann, "room", "later").await["seq"], 151);
    until(&tenant, "purged again", |status| kept(status) == 0).await;
    assert_eq!(conversation(&ann, "room").await["headSeq"], 151);
}
