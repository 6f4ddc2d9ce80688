//! Proves that the routes of operation answer: health and readiness without a token, the archive's
//! run and status for services and administrators.

use im_tests::client::Client;
use im_tests::routes::{HEALTH, OPEN, READY, RUN, STATUS};
use im_tests::shape;
use im_tests::talk::{group, say_many};
use im_tests::tenant::Tenant;
use im_tests::walk::{Direction, pull_all};
use serde_json::{Value, json};

async fn run(by: &Client, request: Value) -> Value {
    let report = by.ok(RUN, request).await;
    for field in ["drained", "tiered", "expired", "deadLettered", "backlog", "tookMs"] {
        shape::int(&report, field);
    }
    report
}

#[tokio::test]
async fn health_needs_no_token() {
    let tenant = Tenant::new("upkeep-health");
    for route in [HEALTH, READY] {
        assert!(tenant.nobody().get(route).await.ok().is_object(), "{route}");
    }
}

#[tokio::test]
async fn open_routes_do_not_mind_a_bad_token() {
    let tenant = Tenant::new("upkeep-open");
    for route in OPEN {
        tenant.bearing("no token at all").get(route).await.ok();
    }
}

#[tokio::test]
async fn a_run_reports_what_it_did_and_changes_no_history() {
    let tenant = Tenant::new("upkeep-run");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    say_many(&ann, "room", 30).await;
    let before = pull_all(&ann, "room", Direction::Down, 100).await;
    for by in [tenant.service(), tenant.admin()] {
        for request in [
            json!({}),
            json!({"tasks": ["drain"]}),
            json!({"tasks": ["drain", "tier", "expire"], "maxMs": 5_000}),
        ] {
            run(&by, request).await;
        }
    }
    assert_eq!(pull_all(&ann, "room", Direction::Down, 100).await, before);
}

#[tokio::test]
async fn the_status_has_every_field() {
    let tenant = Tenant::new("upkeep-status");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    say_many(&ann, "room", 30).await;
    run(&tenant.service(), json!({})).await;
    for by in [tenant.service(), tenant.admin()] {
        let status = by.get(STATUS).await.ok();
        for field in ["backlog", "oldestUnpersistedMs", "deadLetters"] {
            shape::int(&status, field);
        }
        shape::list(&status, "partitions");
        let tiers = &status["tiers"];
        let kept: u64 = ["hot", "sql", "cold"].map(|tier| shape::int(tiers, tier)).iter().sum();
        assert!(kept >= 30, "30 messages are somewhere: {tiers}");
        assert!(!status["epochs"].is_null(), "{status}");
        assert!(!status["lastRun"].is_null(), "there was one: {status}");
    }
}
