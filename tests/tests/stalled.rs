//! Proves that clients which stop in the middle cost the others nothing: more of them than the host
//! works on requests at once (256) announce a body and send none of it, or ask for a large page and
//! do not read it, and another client is served meanwhile, at once and without a refusal. The
//! servers are the suite's own; skipped where `IM_URL` is set.

use im_tests::client::Client;
use im_tests::raw::{self, CHUNKED, content_length};
use im_tests::routes::{CONVERSATION, PULL, SEND};
use im_tests::server::{Server, Setup};
use im_tests::stalled;
use im_tests::talk::{group, send_batch, text};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Clients that stop.
const CROWD: usize = 300;
/// Bytes of the bodies that do not come: too many for the host to take as small.
const ANNOUNCED_BYTES: usize = 70_000;
/// Time for the server to take in what the crowd has sent.
const SETTLE: Duration = Duration::from_secs(1);
/// Messages that the other client sends and reads back.
const MESSAGES: usize = 20;
/// How long they may take, all of them: a hundred times what they take on an idle machine.
const SERVED_WITHIN: Duration = Duration::from_secs(10);
/// Messages of the largest content that fill a page, which ends after 4 MiB of it.
const LARGE_MESSAGES: usize = 64;
const LARGE_BYTES: usize = 65_536;

/// A client on connections of its own sends and reads; nothing is refused, or slow.
async fn is_served(client: &Client, label: &str) {
    let client = client.fresh();
    let began = Instant::now();
    for n in 0..MESSAGES {
        let name = format!("{label}-{n}");
        client.ok(SEND, text("quiet", &name, &name)).await;
        let page = client.ok(PULL, json!({"conversationId": "quiet", "limit": 1})).await;
        assert_eq!(page["messages"][0]["content"], name.as_str());
    }
    client.ok(CONVERSATION, json!({"conversationId": "quiet"})).await;
    assert!(began.elapsed() < SERVED_WITHIN, "{label}: took {:?}", began.elapsed());
}

#[tokio::test]
async fn bodies_that_do_not_come_hold_up_nobody() {
    let Some(server) = Server::own(Setup::default()) else { return };
    let tenant = Tenant::on(&server, "stalled-bodies");
    let ann = tenant.user("ann");
    group(&ann, "quiet", &[]).await;
    let head = |framing: &str| raw::post_head(server.base(), SEND, ann.token(), framing);
    let whole = head(&content_length(ANNOUNCED_BYTES));
    let chunked = format!("{}{ANNOUNCED_BYTES:x}\r\n", head(CHUNKED));
    let mut crowd = Vec::new();
    for (label, request) in [("announced", &whole), ("chunked", &chunked)] {
        // With and without a beginning of the body.
        for body in ["", "{\"conversationId\":"] {
            let request = format!("{request}{body}");
            crowd.extend(stalled::in_request(server.base(), &request, CROWD / 2).await);
        }
        tokio::time::sleep(SETTLE).await;
        is_served(&ann, label).await;
    }
}

#[tokio::test]
async fn answers_that_are_not_read_hold_up_nobody() {
    let Some(server) = Server::own(Setup::default()) else { return };
    let tenant = Tenant::on(&server, "stalled-answers");
    let ann = tenant.user("ann");
    group(&ann, "quiet", &[]).await;
    group(&ann, "loud", &[]).await;
    let content = "x".repeat(LARGE_BYTES);
    let large: Vec<Value> = (0..LARGE_MESSAGES).map(|n| text("loud", &n.to_string(), &content)).collect();
    send_batch(&ann, &large).await;
    let body = json!({"conversationId": "loud", "limit": 100}).to_string();
    let head = raw::post_head(server.base(), PULL, ann.token(), &content_length(body.len()));
    let crowd = stalled::in_answer(server.base(), &format!("{head}{body}"), CROWD).await;
    let answered = crowd.iter().filter(|one| one.read == "HTTP/1.1 200").count();
    println!("{answered} of {CROWD} have an answer they do not read");
    assert!(answered > 0, "{}", crowd[0].read);
    is_served(&ann, "unread").await;
    // Memory for answers is bounded, so large ones may be refused for a while, not for ever: who
    // does not read is cut off, and who does gets the whole page.
    let page = ann.fresh().patient(PULL, json!({"conversationId": "loud", "limit": 100})).await;
    assert_eq!(page["messages"].as_array().map(Vec::len), Some(LARGE_MESSAGES));
    drop(crowd);
}
