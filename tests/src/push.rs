//! A push service's worker: asks whom to wake, and says whom it has woken.

use crate::client::Client;
use crate::routes::{PUSH_DUE, PUSH_SETTINGS, RUN};
use crate::shape;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How long a user may take to become due who has to.
const PATIENCE: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(200);

/// Users that are due, leased to the caller; `request` as the route takes it.
pub async fn due(service: &Client, request: Value) -> Vec<Value> {
    let limit = request["limit"].as_u64().unwrap_or(100);
    let answer = service.patient(PUSH_DUE, request).await;
    let found = shape::list(&answer, "due").to_vec();
    assert!(found.len() as u64 <= limit, "{} users, limit {limit}", found.len());
    found.iter().for_each(due_user);
    let users: BTreeSet<&str> = found.iter().map(|one| shape::text(one, "userId")).collect();
    assert_eq!(users.len(), found.len(), "a user twice in one answer");
    found
}

#[track_caller]
fn due_user(one: &Value) {
    for field in ["leaseId", "userId"] {
        assert!(!shape::text(one, field).is_empty(), "{field}");
    }
    assert!(shape::int(one, "messages") > 0, "nobody is woken for nothing: {one}");
    let conversations = shape::int(one, "conversations");
    assert!(conversations > 0 && conversations <= shape::int(one, "messages"), "{one}");
    assert!(shape::int(one, "oldestTime") > 0);
    assert!(one.get("preview").is_none_or(Value::is_array), "absent or a list: {one}");
    for message in one["preview"].as_array().into_iter().flatten() {
        shape::message(message);
    }
}

/// Asks until all of `users` have been given, and gives what was given of each; nobody may be given twice.
/// Others are given too where they are due. Nothing is confirmed.
pub async fn until_due<'a>(
    service: &Client,
    users: impl IntoIterator<Item = &'a str>,
) -> BTreeMap<String, Value> {
    ask(service, users.into_iter().collect(), false).await
}

/// As [`until_due`], and confirms what was given with the next question: for so many that the first leases
/// could run out.
pub async fn until_woken<'a>(
    service: &Client,
    users: impl IntoIterator<Item = &'a str>,
) -> BTreeMap<String, Value> {
    ask(service, users.into_iter().collect(), true).await
}

async fn ask(service: &Client, mut missing: BTreeSet<&str>, confirms: bool) -> BTreeMap<String, Value> {
    let began = Instant::now();
    let mut given = BTreeMap::new();
    let mut request = json!({});
    while !missing.is_empty() {
        assert!(began.elapsed() < PATIENCE, "{missing:?} not due after {PATIENCE:?}");
        let found = due(service, request.take()).await;
        request = json!({});
        if confirms {
            request["confirm"] = found.iter().map(|one| one["leaseId"].clone()).collect();
        }
        if found.is_empty() {
            // Some of the work may be the upkeep's, which not every host calls by itself.
            service.patient(RUN, json!({"tasks": ["drain"]})).await;
            tokio::time::sleep(POLL).await;
        }
        for one in found {
            let user = shape::text(&one, "userId").to_owned();
            missing.remove(user.as_str());
            let twice = given.insert(user, one.clone());
            assert!(twice.is_none(), "given twice: {one}");
        }
    }
    given
}

/// Says that these have been woken, and expects nobody else to be due.
pub async fn confirm(service: &Client, leases: impl IntoIterator<Item = &Value>) {
    let leases: Vec<&Value> = leases.into_iter().map(|one| &one["leaseId"]).collect();
    assert_eq!(due(service, json!({"confirm": leases})).await, Vec::<Value>::new());
}

/// A user's settings after what is named has been changed.
pub async fn settings(user: &Client, change: Value) -> Value {
    let settings = user.patient(PUSH_SETTINGS, change).await;
    shape::flag(&settings, "showContent");
    assert!(shape::list(&settings, "muted").iter().all(Value::is_string), "{settings}");
    settings
}
