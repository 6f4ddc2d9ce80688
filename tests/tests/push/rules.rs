//! The rules of an operator, and those of single tenants. On a server of the suite's own, which is set up
//! with them; skipped where `IM_URL` is set.

use super::{ENOUGH, away};
use im_tests::command::im;
use im_tests::manifest;
use im_tests::process::Signal;
use im_tests::profile::Profile;
use im_tests::push::{confirm, due, settings, until_due};
use im_tests::routes::SYNC;
use im_tests::scratch::Scratch;
use im_tests::server::{Server, Setup};
use im_tests::talk::{group, say, say_many, send_batch, text};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Longer than any test, in milliseconds.
const FOR_EVER_MS: u64 = 86_400_000;

/// How long a lease lasts.
const LEASE: Duration = Duration::from_secs(60);

/// The tenants' names are known before the server is: they are the same on all servers of a run.
fn server(rules: [(&str, String); 3]) -> Option<Server> {
    let set = rules.into_iter().flat_map(|(name, rule)| ["--var".to_owned(), format!("{name}={rule}")]);
    Server::own(Setup { args: set.collect(), ..Setup::default() })
}

/// For everybody: five messages, no wait that ends, offline at once.
fn common() -> [(&'static str, String); 3] {
    [
        ("push_messages", ENOUGH.to_string()),
        ("push_wait_ms", FOR_EVER_MS.to_string()),
        ("push_offline_ms", "1".to_owned()),
    ]
}

fn name(label: &str) -> String {
    // On whatever server.
    Tenant::new(label).name
}

#[tokio::test]
async fn one_message_that_waits_long_enough_wakes() {
    let mut rules = common();
    let (hasty, patient) = ("rules-hasty", "rules-patient");
    rules[1].1 = format!("{FOR_EVER_MS},{}=1", name(hasty));
    let Some(server) = server(rules) else { return };
    for label in [hasty, patient] {
        let tenant = Tenant::on(&server, label);
        group(&tenant.user("ann"), "room", &["ben"]).await;
        say(&tenant.user("ann"), "room", "one").await;
    }
    let hasty = Tenant::on(&server, hasty);
    let given = until_due(&hasty.service(), ["ben"]).await;
    assert_eq!(given["ben"]["messages"], 1);
    confirm(&hasty.service(), given.values()).await;
    // The other tenant's has not waited for a day.
    assert_eq!(due(&Tenant::on(&server, patient).service(), json!({})).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_tenant_has_a_number_of_messages_of_its_own() {
    let mut rules = common();
    let (two, five) = ("rules-two", "rules-five");
    rules[0].1 = format!("{ENOUGH},{}=2", name(two));
    let Some(server) = server(rules) else { return };
    for label in [two, five] {
        let tenant = Tenant::on(&server, label);
        group(&tenant.user("ann"), "room", &["ben"]).await;
        say_many(&tenant.user("ann"), "room", 2).await;
    }
    assert_eq!(until_due(&Tenant::on(&server, two).service(), ["ben"]).await["ben"]["messages"], 2);
    let five = Tenant::on(&server, five);
    assert_eq!(due(&five.service(), json!({})).await, Vec::<Value>::new());
    let more: Vec<Value> = (0..3).map(|n| text("room", &format!("more-{n}"), "more")).collect();
    send_batch(&five.user("ann"), &more).await;
    assert_eq!(until_due(&five.service(), ["ben"]).await["ben"]["messages"], 5);
}

#[tokio::test]
async fn who_has_just_synced_is_not_offline() {
    let mut rules = common();
    let (online, offline) = ("rules-online", "rules-offline");
    rules[2].1 = format!("1,{}={FOR_EVER_MS}", name(online));
    let Some(server) = server(rules) else { return };
    for label in [online, offline] {
        let tenant = Tenant::on(&server, label);
        group(&tenant.user("ann"), "room", &["ben", "cid"]).await;
        say_many(&tenant.user("ann"), "room", ENOUGH).await;
        // Ben's device syncs, Cid's never did.
        tenant.device("ben", "phone").ok(SYNC, json!({"conversationId": "room"})).await;
        let more: Vec<Value> = (0..6).map(|n| text("room", &format!("more-{n}"), "more")).collect();
        send_batch(&tenant.user("ann"), &more).await;
    }
    let online = Tenant::on(&server, online);
    let given = until_due(&online.service(), ["cid"]).await;
    assert_eq!(given.keys().collect::<Vec<_>>(), ["cid"]);
    assert_eq!(given["cid"]["messages"], 11);
    let given = until_due(&Tenant::on(&server, offline).service(), ["ben", "cid"]).await;
    assert_eq!(given["ben"]["messages"], 6, "what came since the sync");
    assert_eq!(given["cid"]["messages"], 11);
}

/// Everything a push is decided by outlives every process.
#[tokio::test]
async fn what_waits_and_what_is_set_outlive_a_kill() {
    let Some(mut server) = server(common()) else { return };
    let label = "rules-kill";
    let tenant = Tenant::on(&server, label);
    let ann = tenant.user("ann");
    for room in ["room", "muted"] {
        group(&ann, room, &["ben", "cid", "dan", "eve"]).await;
    }
    settings(&away(&tenant, "ben"), json!({"showContent": false, "muted": ["muted"]})).await;
    say_many(&ann, "muted", 20).await;
    let receipts = say_many(&ann, "room", ENOUGH).await;
    tenant.device("dan", "phone").ok(SYNC, json!({"conversationId": "room"})).await;
    server.stop(Signal::Kill);
    server.start_again();
    let tenant = Tenant::on(&server, label);
    let began = Instant::now();
    let given = until_due(&tenant.service(), ["ben", "cid", "eve"]).await;
    assert_eq!(given.len(), 3, "Dan has synced: {given:?}");
    let ben = &given["ben"];
    assert_eq!((&ben["messages"], ben.get("preview")), (&json!(5), None));
    assert_eq!(ben["oldestTime"], receipts[0]["createTime"]);
    assert_eq!(given["eve"]["messages"], 25);
    server.stop(Signal::Kill);
    server.start_again();
    let tenant = Tenant::on(&server, label);
    let again = due(&tenant.service(), json!({})).await;
    if began.elapsed() < LEASE {
        assert_eq!(again, Vec::<Value>::new(), "leases outlive it too");
    }
}

/// The operator is told, before anybody is served.
#[test]
fn rules_that_are_none_are_told_by_name() {
    if !Profile::Embedded.is_current("needs no servers") {
        return;
    }
    let data = Scratch::new();
    let manifest = manifest::root().join("spin.toml").display().to_string();
    let folder = data.path().display().to_string();
    for (name, rule) in [("push_wait_ms", "soon"), ("push_messages", "0"), ("push_offline_ms", "1,a b=2")] {
        let set = format!("{name}={rule}");
        let args = ["up", "--manifest", &manifest, "--data", &folder, "--listen", "127.0.0.1:0"];
        let ended = im(&[&args[..], &["--var", &set]].concat());
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(ended.stderr.contains(name), "{ended:?}");
    }
}
