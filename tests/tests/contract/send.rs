//! Proves that `send` takes one message or a batch, answers each with a receipt in order, and that
//! what it acknowledged is read back at once.

use im_tests::routes::SEND;
use im_tests::talk::{contents, group, ids, pull, send, send_batch, text};
use im_tests::tenant::Tenant;
use im_tests::{shape, talk};
use serde_json::{Value, json};

#[tokio::test]
async fn one_message_gets_a_receipt_and_is_read_back() {
    let tenant = Tenant::new("send-one");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let receipt = send(&ann, text("room", "c-1", "hello")).await;
    assert_eq!(receipt["conversationId"], "room");
    assert_eq!(receipt["seq"], 1);
    assert_eq!(receipt["duplicate"], false);

    let page = pull(&ben, json!({"conversationId": "room"})).await;
    let messages = shape::list(&page, "messages");
    assert_eq!(messages.len(), 1);
    let message = &messages[0];
    for field in ["msgId", "seq", "conversationId", "createTime"] {
        assert_eq!(message[field], receipt[field], "{field}");
    }
    assert_eq!(message["senderId"], "ann");
    assert_eq!(message["type"], "text");
    assert_eq!(message["content"], "hello");
    assert_eq!(message["clientMsgId"], "c-1");
    assert_eq!(message["status"], "normal");
    for absent in ["editTime", "replyTo", "ext", "ref"] {
        assert_eq!(message.get(absent), None, "{absent}");
    }
    assert_eq!(page["epoch"], receipt["epoch"]);
    assert_eq!(page["headSeq"], 1);
}

#[tokio::test]
async fn a_batch_of_100_is_answered_in_order() {
    let tenant = Tenant::new("send-batch");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    let receipts = talk::say_many(&ann, "room", 100).await;
    let seqs: Vec<u64> = receipts.iter().map(|r| shape::int(r, "seq")).collect();
    assert_eq!(seqs, (1..=100).collect::<Vec<u64>>());
    assert!(ids(&receipts).is_sorted());
    let newest_first: Vec<String> = (1..=100).rev().map(|n| n.to_string()).collect();
    assert_eq!(contents(&ann, "room").await, newest_first);
}

#[tokio::test]
async fn a_batch_of_one_is_a_batch() {
    let tenant = Tenant::new("send-batch-one");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let receipts = send_batch(&ann, &[text("room", "1", "alone")]).await;
    assert_eq!(receipts[0]["seq"], 1);
}

#[tokio::test]
async fn a_batch_reaches_several_conversations_each_dense() {
    let tenant = Tenant::new("send-batch-rooms");
    let ann = tenant.user("ann");
    let rooms = ["red", "green", "blue"];
    for room in rooms {
        group(&ann, room, &["ben"]).await;
    }
    let mut batch: Vec<Value> = (0..30).map(|n| text(rooms[n % 3], &n.to_string(), "x")).collect();
    batch.push(json!({"toUserId": "ben", "clientMsgId": "p", "type": "text", "content": "pair"}));
    let receipts = send_batch(&ann, &batch).await;
    for (n, receipt) in receipts.iter().take(30).enumerate() {
        assert_eq!(receipt["conversationId"], rooms[n % 3]);
        assert_eq!(receipt["seq"], n / 3 + 1);
    }
    assert_eq!(receipts[30]["seq"], 1);
    talk::all_different(&ids(&receipts));
}

#[tokio::test]
async fn the_answer_names_what_it_promises() {
    let tenant = Tenant::new("send-ack");
    let ann = tenant.user("ann");
    group(&ann, "room", &[]).await;
    let mut message = text("room", "1", "to disk");
    message["ack"] = "persisted".into();
    assert_eq!(send(&ann, message).await["ack"], "persisted");
    let mut message = text("room", "2", "to the store");
    message["ack"] = "accepted".into();
    send(&ann, message).await;
    let batch = json!({"messages": [text("room", "3", "batch to disk")], "ack": "persisted"});
    let answer = ann.ok(SEND, batch).await;
    assert_eq!(answer["results"][0]["ack"], "persisted");
}

#[tokio::test]
async fn a_client_message_id_belongs_to_its_sender_and_conversation() {
    let tenant = Tenant::new("send-scope");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    group(&ann, "other", &["ben"]).await;
    let receipts = [
        send(&ann, text("room", "same", "ann's")).await,
        send(&ben, text("room", "same", "ben's")).await,
        send(&ann, text("other", "same", "elsewhere")).await,
    ];
    assert!(receipts.iter().all(|receipt| receipt["duplicate"] == false));
    talk::all_different(&ids(&receipts));
    assert_eq!(contents(&ann, "room").await, ["ben's", "ann's"]);
}

#[tokio::test]
async fn a_service_acts_for_the_users_it_names() {
    let tenant = Tenant::new("send-service");
    let service = tenant.service();
    group(&tenant.user("ann"), "room", &["ben", "cid"]).await;
    let mut one = text("room", "1", "at the top");
    one["userId"] = "ben".into();
    send(&service, one).await;
    let mut cids = text("room", "2", "in an item");
    cids["userId"] = "cid".into();
    let bens = text("room", "3", "by the top");
    let batch = json!({"userId": "ben", "messages": [cids, bens]});
    let answer = service.ok(SEND, batch).await;
    shape::list(&answer, "results").iter().for_each(shape::receipt);

    let request = json!({"userId": "cid", "conversationId": "room", "direction": "down"});
    let page = pull(&service, request).await;
    let senders: Vec<&str> =
        shape::list(&page, "messages").iter().map(|m| shape::text(m, "senderId")).collect();
    assert_eq!(senders, ["ben", "cid", "ben"]);
}
