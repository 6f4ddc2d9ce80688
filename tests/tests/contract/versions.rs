//! Proves that an administrator sees what a message was, from when it was sent to when it was taken away, and
//! that nobody else does.

use im_tests::recall::{delete, edit, recall_of};
use im_tests::routes::{RECALL, RUN, VERSIONS};
use im_tests::shape;
use im_tests::talk::{group, say};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};

fn of(msg_id: &Value) -> Value {
    json!({"conversationId": "room", "msgId": msg_id})
}

#[tokio::test]
async fn what_a_message_was_oldest_first() {
    let tenant = Tenant::new("versions-all");
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    group(&ann, "room", &["ben"]).await;
    let sent = say(&ben, "room", "first").await;
    let only = tenant.admin().ok(VERSIONS, of(&sent["msgId"])).await;
    let wanted = json!({"content": "first", "editTime": sent["createTime"], "by": "ben", "action": "send"});
    assert_eq!(shape::versions(&only), [wanted]);
    for content in ["second", "third"] {
        edit(&ben, "room", &sent["msgId"], content).await;
    }
    let mut recall = recall_of("room", &sent["msgId"]);
    recall["reason"] = "off topic".into();
    ann.patient(RECALL, recall).await;
    for _ in 0..2 {
        let answer = tenant.admin().ok(VERSIONS, of(&sent["msgId"])).await;
        let versions = shape::versions(&answer);
        let told = versions.iter().map(|one| {
            ["content", "by", "action", "role", "reason"].map(|field| one[field].as_str().unwrap_or("-"))
        });
        let wanted = [
            ["first", "ben", "send", "-", "-"],
            ["second", "ben", "edit", "sender", "-"],
            ["third", "ben", "edit", "sender", "-"],
            ["", "ann", "recall", "owner", "off topic"],
        ];
        assert!(told.eq(wanted), "{answer}");
        assert!(versions.is_sorted_by_key(|one| shape::int(one, "editTime")), "{answer}");
        tenant.service().patient(RUN, json!({"tasks": ["drain"]})).await;
    }
}

#[tokio::test]
async fn for_administrators_alone() {
    let tenant = Tenant::new("versions-who");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    let sent = say(&ann, "room", "a slip").await;
    let control = delete(&ann, "room", &sent["msgId"]).await["controlMsgId"].clone();
    for by in [&ann, &tenant.user("ben"), &tenant.user("eve"), &tenant.service()] {
        by.post(VERSIONS, of(&sent["msgId"])).await.refused("forbidden");
    }
    let admin = tenant.admin();
    assert_eq!(shape::versions(&admin.ok(VERSIONS, of(&sent["msgId"])).await).len(), 2);
    admin.post(VERSIONS, of(&json!("7"))).await.refused("message_not_found").naming("msgId");
    admin.post(VERSIONS, of(&control)).await.refused("invalid_request").naming("msgId");
}
