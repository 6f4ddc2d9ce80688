//! What the store says of its upkeep.

use super::stage::Stage;
use im_tests::client::Client;
use im_tests::routes::{RUN, STATUS};
use im_tests::shape;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How long until SQL has everything again, by itself.
const DRAINED_WITHIN: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

fn service(stage: &Stage) -> Client {
    stage.tenant(0).service().fresh()
}

/// Waits until the status is as wanted; a refusal for now is waited out.
pub async fn until(stage: &Stage, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let service = service(stage);
    let began = Instant::now();
    loop {
        let answer = service.get(STATUS).await;
        if answer.status == 200 && is_so(&answer.body) {
            return answer.body;
        }
        assert!(began.elapsed() < DRAINED_WITHIN, "not {what} in {DRAINED_WITHIN:?}: {}", answer.body);
        tokio::time::sleep(POLL).await;
    }
}

/// Waits until nothing waits for SQL.
pub async fn drained(stage: &Stage) -> Value {
    until(stage, "drained", |status| shape::int(status, "backlog") == 0).await
}

/// Drains by a call: for stages on which nothing does so by itself.
pub async fn drain(stage: &Stage) -> Value {
    let began = Instant::now();
    loop {
        let report = service(stage).patient(RUN, json!({"tasks": ["drain"]})).await;
        if report["backlog"] == 0 {
            return report;
        }
        assert!(began.elapsed() < DRAINED_WITHIN, "a run drains nothing: {report}");
    }
}
