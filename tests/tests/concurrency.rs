//! Proves that what happens at once has one outcome: writers and followers of one conversation,
//! two sides that make their chat, confirmations in any order. Followers check while the writers
//! write; everything is bounded by a count or a deadline, nothing by a measured time.

use im_tests::client::Client;
use im_tests::routes::{CREATE, MEMBERS, PULL, SEND, SYNC};
use im_tests::talk::{conversation, group, ids, say_many, send_batch, text};
use im_tests::tenant::Tenant;
use im_tests::walk::{Direction, list_all, pull_all};
use im_tests::{seed, shape, talk};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const WRITERS: usize = 16;
const MESSAGES_OF_A_WRITER: usize = 40;
const MESSAGES: usize = WRITERS * MESSAGES_OF_A_WRITER;
/// How long followers wait for the writers to come to an end.
const PATIENCE: Duration = Duration::from_secs(300);

/// Writes singly, and every other time a batch of five.
async fn write(writer: Client, name: String) {
    let mut left: Vec<Value> = (0..MESSAGES_OF_A_WRITER)
        .rev()
        .map(|n| text("room", &format!("{name}-{n}"), &n.to_string()))
        .collect();
    let mut single = true;
    while !left.is_empty() {
        let count = if single { 1 } else { 5.min(left.len()) };
        single = !single;
        let batch: Vec<Value> = left.split_off(left.len() - count).into_iter().rev().collect();
        send_batch(&writer, &batch).await;
    }
}

/// Follows by cursor from the beginning until it has all; each message must be the next one.
async fn follow(reader: Client, route: &'static str) -> Vec<Value> {
    let began = Instant::now();
    let mut seen: Vec<Value> = Vec::new();
    let mut request = json!({"conversationId": "room", "lastMsgId": 0, "limit": 50});
    if route == PULL {
        request["direction"] = "down".into();
    }
    while seen.len() < MESSAGES {
        assert!(began.elapsed() < PATIENCE, "{} of {MESSAGES} after {PATIENCE:?}", seen.len());
        let page = reader.patient(route, request.clone()).await;
        shape::page(&page);
        for message in shape::list(&page, "messages") {
            assert_eq!(message["seq"], seen.len() + 1, "the next one, skipped or doubled");
            seen.push(message.clone());
        }
        assert!(shape::int(&page, "headSeq") >= seen.len() as u64);
        request["lastMsgId"] = page["cursor"].clone();
        if shape::list(&page, "messages").is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    seen
}

/// Scrolls from the newest message upwards, again and again: no hole, whatever is being written.
async fn scroll(reader: Client) {
    for _ in 0..5 {
        let all = pull_all(&reader, "room", Direction::Up, 30).await;
        assert!(all.last().is_none_or(|oldest| oldest["seq"] == 1), "down to the first");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_of_sixteen_writers_miss_nothing_and_see_nothing_twice() {
    let tenant = Tenant::new("many-writers");
    let names: Vec<String> = (0..WRITERS).map(|n| format!("writer-{n}")).collect();
    let members: Vec<&str> = names.iter().map(String::as_str).collect();
    group(&tenant.user("ann"), "room", &members).await;
    let mut followers = JoinSet::new();
    for n in 0..4 {
        let reader = tenant.device("ann", &format!("device-{n}")).fresh();
        followers.spawn(follow(reader, if n % 2 == 0 { PULL } else { SYNC }));
    }
    let mut others = JoinSet::new();
    others.spawn(scroll(tenant.user("ann").fresh()));
    for name in &names {
        others.spawn(write(tenant.user(name).fresh(), name.clone()));
    }
    others.join_all().await;
    let seen = followers.join_all().await;
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "all saw the same");
    assert_eq!(pull_all(&tenant.user("ann"), "room", Direction::Down, 100).await, seen[0]);
    assert_eq!(conversation(&tenant.user("ann"), "room").await["headSeq"], MESSAGES);
    let mut next: BTreeMap<&str, usize> = BTreeMap::new();
    for message in &seen[0] {
        let count = next.entry(shape::text(message, "senderId")).or_default();
        assert_eq!(message["content"], count.to_string(), "a writer's messages stay in order");
        *count += 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pair_that_meets_from_both_sides_at_once_has_one_chat() {
    let tenant = Tenant::new("pair-race");
    for round in 0..5 {
        let names = [format!("a{round}"), format!("b{round}")];
        let mut calls = JoinSet::new();
        for n in 0..20 {
            let (own, other) = (&names[n % 2], names[(n + 1) % 2].clone());
            let user = tenant.user(own).fresh();
            calls.spawn(async move {
                let answer = if n % 4 < 2 {
                    let message = json!({
                        "toUserId": other, "clientMsgId": n.to_string(), "type": "text",
                        "content": n.to_string(),
                    });
                    user.patient(SEND, message).await
                } else {
                    user.patient(CREATE, json!({"type": "single", "members": [other]})).await
                };
                shape::text(&answer, "conversationId").to_owned()
            });
        }
        let found: BTreeSet<String> = calls.join_all().await.into_iter().collect();
        assert_eq!(found.len(), 1, "{found:?}");
        let id = found.first().expect("one");
        for name in &names {
            let user = tenant.user(name);
            assert_eq!(list_all(&user, 20).await.len(), 1);
            assert_eq!(pull_all(&user, id, Direction::Down, 3).await.len(), 10);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confirmations_in_any_order_never_move_a_position_back() {
    let mut rng = seed::rng("confirmations_in_any_order_never_move_a_position_back");
    let tenant = Tenant::new("confirm-race");
    group(&tenant.user("ann"), "room", &[]).await;
    let mut order = ids(&say_many(&tenant.user("ann"), "room", 60).await);
    let highest = order[59];
    rng.shuffle(&mut order);
    let mut calls = JoinSet::new();
    for id in order {
        let device = tenant.user("ann").fresh();
        calls.spawn(async move {
            let request = json!({"conversationId": "room", "lastMsgId": id.to_string(), "limit": 1});
            let page = device.patient(SYNC, request).await;
            assert!(shape::id(&page, "position") >= id, "behind what it has just confirmed");
        });
    }
    calls.join_all().await;
    let page = tenant.user("ann").ok(SYNC, json!({"conversationId": "room"})).await;
    assert_eq!(shape::id(&page, "position"), highest);
    assert_eq!(page["messages"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_made_at_once_several_times_is_one_group() {
    let tenant = Tenant::new("create-race");
    let mut calls = JoinSet::new();
    for _ in 0..20 {
        let ann = tenant.user("ann").fresh();
        let body = json!({"conversationId": "room", "type": "group", "members": ["ben", "cid"]});
        calls.spawn(async move { ann.patient(CREATE, body).await });
    }
    let answers = calls.join_all().await;
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:#?}");
    assert_eq!(answers[0]["memberCount"], 3);
    assert_eq!(list_all(&tenant.user("ben"), 20).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_added_at_once_are_all_there() {
    let tenant = Tenant::new("member-race");
    group(&tenant.user("ann"), "room", &[]).await;
    let mut calls = JoinSet::new();
    for n in 0..20 {
        let ann = tenant.user("ann").fresh();
        // Each is added twice.
        let body = json!({"conversationId": "room", "add": [format!("user-{}", n / 2)]});
        calls.spawn(async move { ann.patient(MEMBERS, body).await });
    }
    calls.join_all().await;
    assert_eq!(conversation(&tenant.user("ann"), "room").await["memberCount"], 11);
    talk::say(&tenant.user("user-9"), "room", "all here").await;
}
