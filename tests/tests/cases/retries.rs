//! C12: a retry is stored once, however many come at once and whatever happened between.

use im_tests::client::Client;
use im_tests::process::Signal;
use im_tests::routes::SEND;
use im_tests::server::{Server, Setup};
use im_tests::shape;
use im_tests::talk::{contents, conversation, group, send, send_batch, text};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Expects `again` to be the receipt of a retry of `first`.
#[track_caller]
fn same(first: &Value, again: &Value) {
    assert_eq!(again["duplicate"], true);
    for field in ["msgId", "seq", "conversationId", "createTime", "epoch"] {
        assert_eq!(again[field], first[field], "{field}");
    }
}

async fn twenty_at_once(sender: &Client, message: &Value) -> Vec<Value> {
    let mut tries = JoinSet::new();
    for _ in 0..20 {
        let (sender, message) = (sender.fresh(), message.clone());
        tries.spawn(async move { send(&sender, message).await });
    }
    tries.join_all().await
}

#[tokio::test]
async fn c12_twenty_parallel_retries_are_one_message() {
    let tenant = Tenant::new("c12-parallel");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    for round in 0..5 {
        let message = text("room", &round.to_string(), &format!("round {round}"));
        let receipts = twenty_at_once(&ann, &message).await;
        let (firsts, retries): (Vec<&Value>, Vec<&Value>) =
            receipts.iter().partition(|receipt| receipt["duplicate"] == false);
        assert_eq!(firsts.len(), 1, "exactly one was the first");
        retries.iter().for_each(|again| same(firsts[0], again));
        assert_eq!(conversation(&ann, "room").await["headSeq"], round + 1);
    }
    assert_eq!(contents(&ann, "room").await.len(), 5);
}

#[tokio::test]
async fn c12_parallel_batches_that_overlap_are_stored_once() {
    let tenant = Tenant::new("c12-batches");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let all: Vec<Value> = (0..60).map(|n| text("room", &n.to_string(), &n.to_string())).collect();
    let mut tries = JoinSet::new();
    for start in [0, 10, 20, 30, 0, 10, 20, 30] {
        let (ann, part) = (ann.fresh(), all[start..start + 30].to_vec());
        tries.spawn(async move { send_batch(&ann, &part).await });
    }
    let receipts: Vec<Value> = tries.join_all().await.into_iter().flatten().collect();
    let firsts = receipts.iter().filter(|receipt| receipt["duplicate"] == false).count();
    assert_eq!(firsts, 60);
    let mut found = contents(&ann, "room").await;
    found.sort_by_key(|content| content.parse::<u32>().expect("a number"));
    assert_eq!(found, (0..60).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn c12_other_content_under_the_same_id_is_a_conflict() {
    let tenant = Tenant::new("c12-conflict");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let first = send(&ann, text("room", "1", "as it was")).await;
    let mut other_type = text("room", "1", "as it was");
    other_type["type"] = "custom".into();
    let mut other_ext = text("room", "1", "as it was");
    other_ext["ext"] = json!({"k": 1});
    for other in [text("room", "1", "as it was not"), text("room", "1", ""), other_type, other_ext] {
        ann.post(SEND, other).await.refused("conflict").naming("clientMsgId");
    }
    let mut later = text("room", "1", "as it was");
    later["clientTime"] = 1_700_000_000_000_u64.into();
    same(&first, &send(&ann, later).await);
    assert_eq!(contents(&ann, "room").await, ["as it was"]);
}

#[tokio::test]
async fn c12_a_retry_after_others_wrote_gives_the_first_receipt() {
    let tenant = Tenant::new("c12-later");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let first = send(&ann, text("room", "1", "mine")).await;
    im_tests::talk::say_many(&ben, "room", 150).await;
    same(&first, &send(&ann, text("room", "1", "mine")).await);
    assert_eq!(conversation(&ann, "room").await["headSeq"], 151);
}

#[tokio::test]
async fn c12_a_retry_after_a_restart_is_one_message() {
    let Some(mut server) = Server::own(Setup::default()) else { return };
    let tenant = Tenant::on(&server, "c12-restart");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    let message = text("room", "1", "before");
    let first = send(&tenant.user("ann"), message.clone()).await;
    for (round, signal) in [Signal::Term, Signal::Kill].into_iter().enumerate() {
        server.stop(signal);
        server.start_again();
        let ann = Tenant::on(&server, "c12-restart").user("ann");
        for again in twenty_at_once(&ann, &message).await {
            same(&first, &again);
        }
        ann.post(SEND, text("room", "1", "other")).await.refused("conflict");
        let next = send(&ann, text("room", &format!("after {round}"), "after")).await;
        assert!(shape::id(&next, "msgId") > shape::id(&first, "msgId"));
        assert_eq!(next["seq"], round + 2);
    }
}
