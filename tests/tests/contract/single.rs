//! Proves that a single chat is found by its pair: the same from both sides, made on first use.

use im_tests::routes::{CREATE, SEND};
use im_tests::shape;
use im_tests::talk::{contents, conversation, send};
use im_tests::tenant::Tenant;
use im_tests::walk::list_all;
use serde_json::{Value, json};

fn to(user: &str, client_msg_id: &str, content: &str) -> Value {
    json!({"toUserId": user, "clientMsgId": client_msg_id, "type": "text", "content": content})
}

#[tokio::test]
async fn both_sides_write_into_the_same_conversation() {
    let tenant = Tenant::new("single-both");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    let first = send(&ann, to("ben", "1", "hi ben")).await;
    let second = send(&ben, to("ann", "1", "hi ann")).await;
    assert_eq!(first["conversationId"], second["conversationId"]);
    assert_eq!(second["seq"], 2);
    let id = shape::text(&first, "conversationId");
    assert_eq!(contents(&ann, id).await, ["hi ann", "hi ben"]);
    assert_eq!(contents(&ben, id).await, ["hi ann", "hi ben"]);
    let found = conversation(&ben, id).await;
    assert_eq!(found["type"], "single");
    assert_eq!(found["memberCount"], 2);
    for user in [&ann, &ben] {
        assert_eq!(list_all(user, 20).await.len(), 1);
    }
}

#[tokio::test]
async fn create_gives_the_same_conversation_whoever_is_listed() {
    let tenant = Tenant::new("single-create");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    let create = |members: Value| json!({"type": "single", "members": members});
    let made = ann.ok(CREATE, create(json!(["ben"]))).await;
    shape::conversation(&made);
    assert_eq!(made["lastMsg"], Value::Null);
    for (user, members) in
        [(&ann, json!(["ann", "ben"])), (&ben, json!(["ann"])), (&ben, json!(["ben", "ann"]))]
    {
        let again = user.ok(CREATE, create(members)).await;
        assert_eq!(again["conversationId"], made["conversationId"]);
        assert_eq!(again["memberCount"], 2);
    }
    let receipt = send(&ben, to("ann", "1", "hi")).await;
    assert_eq!(receipt["conversationId"], made["conversationId"]);
}

#[tokio::test]
async fn the_conversation_can_be_named_once_it_is_known() {
    let tenant = Tenant::new("single-named");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    let first = send(&ann, to("ben", "1", "by pair")).await;
    let id = &first["conversationId"];
    let by_id = json!({"conversationId": id, "clientMsgId": "2", "type": "text", "content": "by id"});
    assert_eq!(send(&ben, by_id).await["seq"], 2);
    let body = json!({"conversationId": id, "type": "single", "members": ["ben"]});
    assert_eq!(ann.ok(CREATE, body).await["conversationId"], *id);
}

#[tokio::test]
async fn a_retry_by_pair_gives_the_first_receipt() {
    let tenant = Tenant::new("single-retry");
    let ann = tenant.user("ann");
    let first = send(&ann, to("ben", "1", "once")).await;
    let again = send(&ann, to("ben", "1", "once")).await;
    assert_eq!(again["duplicate"], true);
    for field in ["msgId", "seq", "conversationId", "createTime", "epoch"] {
        assert_eq!(again[field], first[field], "{field}");
    }
    ann.post(SEND, to("ben", "1", "twice")).await.refused("conflict").naming("clientMsgId");
}

#[tokio::test]
async fn pairs_do_not_run_into_each_other() {
    // Names whose parts, put together carelessly, are equal.
    let tenant = Tenant::new("single-pairs");
    let pairs = [("a", "b:c"), ("a:b", "c"), ("a", "b-c"), ("a-b", "c"), ("a", "b"), ("A", "b")];
    let mut found = Vec::new();
    for (from, to_user) in pairs {
        let receipt = send(&tenant.user(from), to(to_user, "1", "x")).await;
        assert_eq!(receipt["seq"], 1, "{from} and {to_user} have a chat of their own");
        found.push(receipt["conversationId"].to_string());
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), pairs.len());
}

#[tokio::test]
async fn a_pair_of_the_longest_names_has_a_chat_too() {
    let tenant = Tenant::new("single-long");
    let (long, other) = ("x".repeat(64), format!("{}y", "x".repeat(63)));
    let receipt = send(&tenant.device(&long, "phone"), to(&other, "1", "x")).await;
    let id = shape::text(&receipt, "conversationId");
    assert!(id.len() <= 64, "an id like any other: {id}");
    assert_eq!(contents(&tenant.device(&other, "phone"), id).await, ["x"]);
}
