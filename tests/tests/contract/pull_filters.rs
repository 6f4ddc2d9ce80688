//! Proves that filters by time and by type are exact, alone, together and over several pages.

use im_tests::shape;
use im_tests::talk::{group, ids, pull, say, send};
use im_tests::tenant::Tenant;
use im_tests::walk::pull_where;
use serde_json::{Value, json};
use std::time::Duration;

/// Sends a message of each type in turn, each at a time of its own, and gives the receipts.
async fn history(tenant: &Tenant, count: usize) -> Vec<Value> {
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let mut receipts: Vec<Value> = Vec::new();
    for n in 0..count {
        let kind = ["text", "image", "file"][n % 3];
        let message = json!({
            "conversationId": "room", "clientMsgId": n.to_string(), "type": kind,
            "content": n.to_string(),
        });
        receipts.push(send(&ann, message).await);
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    let times: Vec<u64> = receipts.iter().map(|r| shape::int(r, "createTime")).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "times of their own: {times:?}");
    receipts
}

fn request(filters: Value, direction: &str, limit: usize) -> Value {
    let mut request = filters;
    request["conversationId"] = "room".into();
    request["direction"] = direction.into();
    request["limit"] = limit.into();
    request
}

/// Expects `filters` to find exactly `wanted`, in both directions and with several page sizes.
async fn finds(tenant: &Tenant, filters: Value, wanted: &[Value]) {
    let ann = tenant.user("ann");
    let wanted = ids(wanted);
    for limit in [1, 4, 100] {
        let down = pull_where(&ann, request(filters.clone(), "down", limit)).await;
        assert_eq!(ids(&down), wanted, "{filters} down, limit {limit}");
        let up = pull_where(&ann, request(filters.clone(), "up", limit)).await;
        let backwards: Vec<u64> = wanted.iter().rev().copied().collect();
        assert_eq!(ids(&up), backwards, "{filters} up, limit {limit}");
    }
}

#[tokio::test]
async fn from_is_included_and_to_is_not() {
    let tenant = Tenant::new("filter-time");
    let receipts = history(&tenant, 12).await;
    let time = |n: usize| shape::int(&receipts[n], "createTime");
    finds(&tenant, json!({"fromTime": time(4)}), &receipts[4..]).await;
    finds(&tenant, json!({"fromTime": time(4) + 1}), &receipts[5..]).await;
    finds(&tenant, json!({"toTime": time(7)}), &receipts[..7]).await;
    finds(&tenant, json!({"toTime": time(7) + 1}), &receipts[..8]).await;
    finds(&tenant, json!({"fromTime": time(4), "toTime": time(7)}), &receipts[4..7]).await;
    finds(&tenant, json!({"fromTime": time(4), "toTime": time(4)}), &[]).await;
    finds(&tenant, json!({"fromTime": 0, "toTime": time(0)}), &[]).await;
    finds(&tenant, json!({"fromTime": 0, "toTime": 4_000_000_000_000_u64}), &receipts).await;
}

#[tokio::test]
async fn types_are_exact() {
    let tenant = Tenant::new("filter-types");
    let receipts = history(&tenant, 12).await;
    let of = |wanted: &[usize]| -> Vec<Value> {
        let kept = receipts.iter().enumerate().filter(|(n, _)| wanted.contains(&(n % 3)));
        kept.map(|(_, receipt)| receipt.clone()).collect()
    };
    finds(&tenant, json!({"types": ["image"]}), &of(&[1])).await;
    finds(&tenant, json!({"types": ["text", "file"]}), &of(&[0, 2])).await;
    finds(&tenant, json!({"types": ["recall"]}), &[]).await;
    let all = json!(["text", "image", "voice", "video", "file", "system", "recall", "custom"]);
    finds(&tenant, json!({"types": all}), &receipts).await;
}

#[tokio::test]
async fn time_and_type_go_together() {
    let tenant = Tenant::new("filter-both");
    let receipts = history(&tenant, 12).await;
    let filters = json!({"fromTime": receipts[2]["createTime"], "types": ["image"]});
    let wanted: Vec<Value> = [4, 7, 10].map(|n: usize| receipts[n].clone()).to_vec();
    finds(&tenant, filters, &wanted).await;
}

#[tokio::test]
async fn has_more_counts_only_what_the_filter_finds() {
    let tenant = Tenant::new("filter-more");
    let receipts = history(&tenant, 9).await;
    let ann = tenant.user("ann");
    let page = pull(&ann, request(json!({"types": ["image"]}), "down", 3)).await;
    assert_eq!(ids(shape::list(&page, "messages")).len(), 3);
    assert_eq!(page["hasMore"], false, "the rest is of another type");
    assert_eq!(page["headSeq"], 9, "the head is the conversation's");
    let page = pull(&ann, request(json!({"toTime": receipts[3]["createTime"]}), "down", 3)).await;
    assert_eq!(page["hasMore"], false, "the rest is of another time");
}

#[tokio::test]
async fn one_rare_message_is_found_behind_many() {
    let tenant = Tenant::new("filter-rare");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let rare = json!({
        "conversationId": "room", "clientMsgId": "rare", "type": "custom", "content": "here",
    });
    send(&ann, rare).await;
    for n in 0..10 {
        let batch: Vec<Value> =
            (0..100).map(|m| im_tests::talk::text("room", &format!("{n}-{m}"), "noise")).collect();
        im_tests::talk::send_batch(&ann, &batch).await;
    }
    say(&ann, "room", "end").await;
    let found = pull_where(&ann, request(json!({"types": ["custom"]}), "up", 20)).await;
    assert_eq!(im_tests::talk::texts(&found), ["here"]);
}
