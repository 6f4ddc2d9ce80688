//! Proves that what is older than the retention is hidden on every way to read, before any purge,
//! and that `archive/run` purges it and says so; that tenants and conversations can have their own; and that
//! under legal hold nothing is hidden or purged. The server is one of the suite's own that keeps
//! messages for two seconds and purges nothing by itself; skipped where `IM_URL` is set.

use im_tests::follow::update;
use im_tests::routes::{CONVERSATION, GET, RECALL, RUN, STATUS, SYNC, UPDATE};
use im_tests::server::{Server, Setup};
use im_tests::shape;
use im_tests::talk::{contents, conversation, group, say, say_many};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const RETENTION_MS: u64 = 2_000;
const PATIENCE: Duration = Duration::from_secs(60);

fn server() -> Option<Server> {
    server_with(format!("retention_ms={RETENTION_MS}"))
}

fn server_with(rules: String) -> Option<Server> {
    let args = vec!["--var".to_owned(), rules];
    // Later than any test: what is purged here is purged by a test's own call.
    Server::own(Setup { args, schedule: Some("24h"), ..Setup::default() })
}

/// The messages that the store keeps for the tenant, seen or not.
async fn kept(tenant: &Tenant) -> u64 {
    let status = tenant.service().get(STATUS).await.ok();
    ["hot", "sql", "cold"].map(|tier| shape::int(&status["tiers"], tier)).iter().sum()
}

/// Moves all to where it stays, on a storage that does so by and by.
async fn drain(tenant: &Tenant) {
    let report = tenant.service().ok(RUN, json!({"tasks": ["drain"]})).await;
    assert_eq!(report["backlog"], 0, "{report}");
}

/// Waits until no message is shown.
async fn until_hidden(reader: &im_tests::client::Client) {
    let began = Instant::now();
    while !contents(reader, "room").await.is_empty() {
        assert!(began.elapsed() < PATIENCE, "still shown after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn expired_messages_are_hidden_before_the_purge_and_gone_after_it() {
    let Some(server) = server() else { return };
    let tenant = Tenant::on(&server, "retention");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let old = say_many(&ann, "room", 150).await;
    drain(&tenant).await;
    until_hidden(&ann).await;
    hidden(&tenant, &old).await;
    assert_eq!(kept(&tenant).await, 150, "hidden, not purged");
    let report = tenant.service().ok(RUN, json!({"tasks": ["expire"]})).await;
    assert_eq!(report["expired"], 150, "{report}");
    assert_eq!(kept(&tenant).await, 0);
    hidden(&tenant, &old).await;
    let status = tenant.service().get(STATUS).await.ok();
    assert_eq!(status["lastRun"]["expired"], 150, "{status}");
    let again = tenant.service().ok(RUN, json!({"tasks": ["expire"]})).await;
    assert_eq!(again["expired"], 0, "{again}");
    assert_eq!(conversation(&ann, "room").await["headSeq"], 150);
    // Nothing that was once given is given again.
    let next = say(&ann, "room", "new").await;
    assert_eq!(next["seq"], 151);
    assert!(shape::id(&next, "msgId") > shape::id(&old[149], "msgId"));
}

async fn hidden(tenant: &Tenant, old: &[Value]) {
    let ann = tenant.user("ann");
    assert!(contents(&ann, "room").await.is_empty());
    let ids: Vec<&Value> = old.iter().take(100).map(|receipt| &receipt["msgId"]).collect();
    let found = ann.ok(GET, json!({"conversationId": "room", "msgIds": ids})).await;
    assert_eq!(found["messages"], json!([]));
    assert_eq!(shape::list(&found, "missing").len(), 100);
    for by in [&ann, &tenant.admin()] {
        let body = json!({"conversationId": "room", "msgId": old[0]["msgId"]});
        by.post(RECALL, body).await.refused("message_not_found");
    }
    let page = ann.ok(SYNC, json!({"conversationId": "room", "lastMsgId": 0})).await;
    assert_eq!(page["messages"], json!([]));
    assert_eq!(page["hasMore"], false);
    let last = &conversation(&ann, "room").await["lastMsg"];
    assert!(last.is_null() || last["summary"] == "", "no text of an expired message: {last}");
}

#[tokio::test]
async fn what_is_younger_is_neither_hidden_nor_purged() {
    let Some(server) = server() else { return };
    let tenant = Tenant::on(&server, "retention-younger");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    say_many(&ann, "room", 30).await;
    until_hidden(&ann).await;
    let sent = Instant::now();
    let new = say(&ann, "room", "new").await;
    let report = tenant.service().ok(RUN, json!({})).await;
    let (left, shown) = (kept(&tenant).await, contents(&ann, "room").await);
    // On a machine that is too slow for this the new one has had its time too.
    if sent.elapsed() < Duration::from_millis(RETENTION_MS) {
        assert_eq!(report["expired"], 30, "{report}");
        assert_eq!((left, shown), (1, vec!["new".to_owned()]));
    }
    assert_eq!(new["seq"], 31);
}

#[tokio::test]
async fn c43_a_tenant_and_a_type_have_a_retention_of_their_own() {
    let [short, long] = ["retention-short", "retention-long"].map(|label| Tenant::new(label).name);
    let rules = format!("retention_ms=0,{short}={RETENTION_MS},{short}/single=0,{long}=86400000");
    let Some(server) = server_with(rules) else { return };
    let (short, long) = (Tenant::on(&server, "retention-short"), Tenant::on(&server, "retention-long"));
    for tenant in [&short, &long] {
        let ann = tenant.user("ann");
        group(&ann, "room", &["ben"]).await;
        say(&ann, "room", "in a room").await;
    }
    let to_ben = json!({"toUserId": "ben", "clientMsgId": "1", "type": "text", "content": "in a chat"});
    let chat = im_tests::talk::send(&short.user("ann"), to_ben).await;
    until_hidden(&short.user("ben")).await;
    assert_eq!(contents(&long.user("ben"), "room").await, ["in a room"]);
    assert_eq!(contents(&short.user("ben"), shape::text(&chat, "conversationId")).await, ["in a chat"]);
}

#[tokio::test]
async fn c43_a_conversation_says_otherwise_and_a_hold_keeps_all_of_it() {
    let Some(server) = server() else { return };
    let tenant = Tenant::on(&server, "retention-own");
    let (ann, ben, admin) = (tenant.user("ann"), tenant.user("ben"), tenant.admin());
    group(&ann, "room", &["ben"]).await;
    say(&ann, "room", "said").await;
    drain(&tenant).await;
    until_hidden(&ben).await;

    let keep = |retention: Value| json!({"conversationId": "room", "retentionMs": retention});
    ben.post(UPDATE, keep(json!(0))).await.refused("forbidden").naming("retentionMs");
    assert_eq!(update(&ann, "room", json!({"retentionMs": 0})).await["retentionMs"], 0);
    assert_eq!(conversation(&ben, "room").await["retentionMs"], 0);
    assert_eq!(contents(&ben, "room").await, ["said"]);
    assert_eq!(update(&ann, "room", json!({"retentionMs": 60_000})).await["retentionMs"], 60_000);
    assert_eq!(ann.ok(UPDATE, keep(json!(null))).await.get("retentionMs"), None);
    assert!(contents(&ben, "room").await.is_empty());

    let hold = |held: bool| json!({"conversationId": "room", "legalHold": held});
    for other in [&ann, &tenant.service()] {
        other.post(UPDATE, hold(true)).await.refused("forbidden").naming("legalHold");
    }
    assert_eq!(admin.ok(UPDATE, hold(true)).await["legalHold"], true);
    assert_eq!(conversation(&ben, "room").await.get("legalHold"), None);
    let seen = tenant.service().ok(CONVERSATION, json!({"conversationId": "room", "userId": "ben"})).await;
    assert_eq!(seen["legalHold"], true);
    let run =
        async || tenant.service().ok(RUN, json!({"tasks": ["drain", "expire"]})).await["expired"].clone();
    assert_eq!((contents(&ben, "room").await, run().await), (vec!["said".to_owned()], json!(0)));
    assert_eq!(admin.ok(UPDATE, hold(false)).await["legalHold"], false);
    assert!(contents(&ben, "room").await.is_empty());
    assert_eq!((run().await, run().await), (json!(1), json!(0)));
    ann.ok(UPDATE, keep(json!(0))).await;
    assert!(contents(&ben, "room").await.is_empty(), "what is purged stays away");
}
