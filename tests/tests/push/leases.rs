//! Leases: each user is one worker's until it says that the user was woken, or for a minute.

use super::{ENOUGH, due_so_far};
use im_tests::push::{confirm, due, until_due};
use im_tests::routes::PUSH_DUE;
use im_tests::shape;
use im_tests::talk::{group, say_many, send_batch, text};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How long workers look for users who are due.
const PATIENCE: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(50);

/// As [`until_due`], of one user, after any number of empty answers. A lease lasts a minute.
async fn until_given_again(tenant: &Tenant) -> Value {
    until_due(&tenant.service(), ["ben"]).await.remove("ben").expect("it was waited for")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_at_once_never_get_the_same_user() {
    let tenant = Tenant::new("lease-workers");
    let ann = tenant.user("ann");
    let names: Vec<String> = (0..60).map(|n| format!("user-{n}")).collect();
    let members: Vec<&str> = names.iter().map(String::as_str).collect();
    group(&ann, "room", &members).await;
    say_many(&ann, "room", ENOUGH).await;
    let mut workers = JoinSet::new();
    for n in 0..8_u64 {
        let service = tenant.service().fresh();
        workers.spawn(async move {
            let (began, mut given, mut in_vain) = (Instant::now(), Vec::new(), 0);
            while in_vain < 20 && began.elapsed() < PATIENCE {
                let found = due(&service, json!({"limit": 1 + n})).await;
                in_vain = if found.is_empty() { in_vain + 1 } else { 0 };
                given.extend(found);
                tokio::time::sleep(POLL).await;
            }
            given
        });
    }
    let given: Vec<Value> = workers.join_all().await.into_iter().flatten().collect();
    let users: BTreeSet<&str> = given.iter().map(|one| shape::text(one, "userId")).collect();
    assert_eq!(given.len(), users.len(), "given to two workers");
    // Those that nobody has found until then come late, and once.
    let late =
        until_due(&tenant.service(), members.iter().copied().filter(|user| !users.contains(user))).await;
    assert!(late.keys().all(|user| !users.contains(user.as_str())), "given to two workers");
    assert_eq!(users.len() + late.len(), 60);
    confirm(&tenant.service(), given.iter().chain(late.values())).await;
    assert_eq!(due_so_far(&tenant).await.len(), 0);
}

#[tokio::test]
async fn a_limit_is_kept_and_the_rest_comes_later() {
    let tenant = Tenant::new("lease-limit");
    let ann = tenant.user("ann");
    let names: Vec<String> = (0..10).map(|n| format!("user-{n}")).collect();
    let members: Vec<&str> = names.iter().map(String::as_str).collect();
    group(&ann, "room", &members).await;
    say_many(&ann, "room", ENOUGH).await;
    let (began, mut users) = (Instant::now(), BTreeSet::new());
    while users.len() < 10 {
        assert!(began.elapsed() < PATIENCE, "{users:?}");
        for one in due(&tenant.service(), json!({"limit": 3})).await {
            assert!(users.insert(shape::text(&one, "userId").to_owned()), "given twice: {one}");
        }
    }
}

/// And nobody but its tenant ends a lease before its time.
#[tokio::test]
async fn an_unconfirmed_lease_is_given_again_with_what_has_come() {
    let (tenant, other) = (Tenant::new("lease-again"), Tenant::new("lease-again-other"));
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    say_many(&ann, "room", ENOUGH).await;
    let first = until_given_again(&tenant).await;
    let more: Vec<Value> = (0..2).map(|n| text("room", &format!("more-{n}"), "more")).collect();
    send_batch(&ann, &more).await;
    confirm(&other.service(), [&first]).await;
    let unknown = json!({"confirm": ["no-lease", "", "x".repeat(201)]});
    tenant.service().post(PUSH_DUE, unknown).await.refused("invalid_request").naming("confirm[1]");
    assert_eq!(due(&tenant.service(), json!({"confirm": ["no-lease", "x".repeat(200)]})).await.len(), 0);
    let again = until_given_again(&tenant).await;
    assert_eq!(again["messages"], 7, "merged with what came meanwhile");
    assert_eq!(again["oldestTime"], first["oldestTime"]);
    assert_ne!(again["leaseId"], first["leaseId"]);
    // The first one has run out: to confirm it ends nothing.
    confirm(&tenant.service(), [&first]).await;
    assert_eq!(until_given_again(&tenant).await["messages"], 7);
}

#[tokio::test]
async fn what_is_confirmed_twice_is_confirmed() {
    let tenant = Tenant::new("lease-twice");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    say_many(&ann, "room", ENOUGH).await;
    let first = until_given_again(&tenant).await;
    for _ in 0..2 {
        confirm(&tenant.service(), [&first, &first]).await;
    }
    let more: Vec<Value> = (0..ENOUGH).map(|n| text("room", &format!("more-{n}"), "more")).collect();
    send_batch(&ann, &more).await;
    let second = until_given_again(&tenant).await;
    assert_eq!(second["messages"], 5);
    confirm(&tenant.service(), [&first]).await;
    assert_eq!(due_so_far(&tenant).await.len(), 0, "the second is still leased");
}

#[tokio::test]
async fn confirmations_have_a_limit() {
    let tenant = Tenant::new("lease-limits");
    let service = tenant.service();
    let leases = |count: usize| json!({"confirm": vec!["x"; count]});
    assert_eq!(due(&service, leases(1_000)).await.len(), 0);
    assert_eq!(due(&service, leases(0)).await.len(), 0);
    service.post(PUSH_DUE, leases(1_001)).await.refused("invalid_request").naming("confirm");
    for limit in [json!(0), json!(101), json!("5")] {
        service.post(PUSH_DUE, json!({"limit": limit})).await.refused("invalid_request").naming("limit");
    }
}
