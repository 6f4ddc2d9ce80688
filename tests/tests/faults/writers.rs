//! Writers that do as a proper client does: what is not acknowledged is sent again, the same, until it
//! is, on whichever host answers.

use super::ledger::{Acked, Ledger, Refusal};
use super::load::Signs;
use fastrand::Rng;
use im_tests::client::{Answer, Client};
use im_tests::routes::SEND;
use im_tests::{seed, shape, talk};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Codes of refusals after which a client tries again.
const PASSING: [&str; 4] = ["hot_unavailable", "sql_unavailable", "overloaded", "rate_limited"];
/// How long an answer may take before a client gives it up and tries again.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long until a message is acknowledged, whatever happens meanwhile.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(180);
/// At most this long between two tries.
const RETRY_WAIT_MAX: Duration = Duration::from_millis(200);
const BATCH_MAX: usize = 10;
const CONTENT_CHARS_MAX: usize = 60;

pub struct Writer {
    pub name: String,
    /// One on each host.
    pub hosts: Vec<Client>,
    pub rooms: Arc<Vec<String>>,
    /// Whether it asks for `persisted`.
    pub persisted: bool,
    /// Whether it sends several at once.
    pub batches: bool,
    pub rng: Rng,
    pub ledger: Arc<Mutex<Ledger>>,
    pub signs: Arc<Signs>,
}

impl Writer {
    /// Writes until told to stop, and to the end what it has begun.
    pub async fn write(mut self) {
        let mut number = 0;
        while self.signs.may_write().await {
            let count = if self.batches { self.rng.usize(1..=BATCH_MAX) } else { 1 };
            let drafts: Vec<Value> = (0..count).map(|n| self.draft(number + n)).collect();
            number += count;
            self.deliver(drafts).await;
            self.signs.written();
        }
    }

    fn draft(&mut self, number: usize) -> Value {
        let room = &self.rooms[self.rng.usize(..self.rooms.len())];
        let content = format!("{number} {}", seed::text(&mut self.rng, CONTENT_CHARS_MAX));
        talk::text(room, &format!("{}-{number}", self.name), &content)
    }

    async fn deliver(&mut self, mut drafts: Vec<Value>) {
        let began = Instant::now();
        let mut host = self.rng.usize(..self.hosts.len());
        while !drafts.is_empty() {
            let answer = self.attempt(host, &drafts).await;
            let left = self.take(&drafts, answer, began);
            if left.len() == drafts.len() {
                host = (host + 1) % self.hosts.len();
                tokio::time::sleep(RETRY_WAIT_MAX.mul_f64(self.rng.f64())).await;
            }
            drafts = left;
            assert!(began.elapsed() < ACKNOWLEDGED_WITHIN, "{}: never acknowledged: {drafts:?}", self.name);
        }
    }

    async fn attempt(&self, host: usize, drafts: &[Value]) -> Option<Answer> {
        let ack = if self.persisted { "persisted" } else { "accepted" };
        let body = match drafts {
            [one] => {
                let mut one = one.clone();
                one["ack"] = ack.into();
                one
            }
            several => json!({"messages": several, "ack": ack}),
        };
        let sent = self.hosts[host].try_post(SEND, &body);
        tokio::time::timeout(ANSWER_WITHIN, sent).await.ok().flatten()
    }

    /// Writes down what has come; gives what has to be sent again.
    fn take(&self, drafts: &[Value], answer: Option<Answer>, began: Instant) -> Vec<Value> {
        let Some(answer) = answer else { return drafts.to_vec() };
        if answer.status != 200 {
            self.refused(&answer.body);
            return drafts.to_vec();
        }
        let results = match drafts {
            [_] => vec![answer.body],
            _ => shape::list(&answer.body, "results").to_vec(),
        };
        assert_eq!(results.len(), drafts.len());
        let mut left = Vec::new();
        for (draft, result) in drafts.iter().zip(&results) {
            match result.get("error") {
                Some(problem) => {
                    self.refused(problem);
                    left.push(draft.clone());
                }
                None => {
                    let acked = Acked::of(draft, result, &self.name, self.persisted, began);
                    self.ledger.lock().expect("no writer panics in it").acked.push(acked);
                }
            }
        }
        left
    }

    #[track_caller]
    fn refused(&self, problem: &Value) {
        let code = shape::text(problem, "code");
        assert!(PASSING.contains(&code), "refused for good: {problem}");
        let refusal = Refusal { at: Instant::now(), persisted: self.persisted, problem: problem.clone() };
        self.ledger.lock().expect("no writer panics in it").refusals.push(refusal);
    }
}
