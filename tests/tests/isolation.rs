//! Proves that tenants share nothing: equal names in two of them never meet, and no route shows a
//! tenant anything of another, whatever ids it has got hold of.

use im_tests::follow::{devices, offline, read, up_to_date};
use im_tests::routes::{
    CONVERSATION, DIGEST, EDIT, GET, GLOBAL, LIST, PULL, PUSH_SETTINGS, READ, RECALL, STATUS, SYNC, UPDATE,
    VERSIONS,
};
use im_tests::shape;
use im_tests::talk::{contents, conversation, group, pull, say, say_many, send, text};
use im_tests::tenant::Tenant;
use im_tests::walk::list_all;
use serde_json::json;

#[tokio::test]
async fn equal_names_in_two_tenants_never_meet() {
    let tenants = [Tenant::new("iso-red"), Tenant::new("iso-blue")];
    for (n, tenant) in tenants.iter().enumerate() {
        let ann = tenant.user("ann");
        group(&ann, "room", &["ben"]).await;
        // The same clientMsgId, other content: no conflict.
        let receipt = send(&ann, text("room", "same", &format!("of {n}"))).await;
        assert_eq!(receipt["seq"], 1);
        assert_eq!(receipt["duplicate"], false);
    }
    for (n, tenant) in tenants.iter().enumerate() {
        let ben = tenant.user("ben");
        assert_eq!(contents(&ben, "room").await, [format!("of {n}")]);
        let synced = ben.ok(SYNC, json!({"conversationId": "room", "autoAdvance": true})).await;
        assert_eq!(synced["messages"][0]["content"], format!("of {n}"));
        assert_eq!(list_all(&ben, 20).await.len(), 1);
        assert_eq!(conversation(&ben, "room").await["headSeq"], 1);
    }
}

#[tokio::test]
async fn equal_pairs_in_two_tenants_never_meet() {
    let tenants = [Tenant::new("iso-pair-red"), Tenant::new("iso-pair-blue")];
    for (n, tenant) in tenants.iter().enumerate() {
        let message = json!({
            "toUserId": "ben", "clientMsgId": "1", "type": "text", "content": format!("of {n}"),
        });
        let receipt = send(&tenant.user("ann"), message).await;
        assert_eq!(receipt["seq"], 1);
        let id = shape::text(&receipt, "conversationId");
        assert_eq!(contents(&tenant.user("ben"), id).await, [format!("of {n}")]);
    }
}

#[tokio::test]
async fn names_that_run_together_are_kept_apart() {
    let short = Tenant::new("iso-run");
    for separator in [":", ".", "-", "@", "_"] {
        let long = short.with_suffix(&format!("{separator}x"));
        let of_short = format!("x{separator}y");
        group(&short.user("ann"), &of_short, &[]).await;
        group(&long.user("ann"), "y", &[]).await;
        say(&short.user("ann"), &of_short, "of the short one").await;
        say(&long.user("ann"), "y", "of the long one").await;
        assert_eq!(contents(&short.user("ann"), &of_short).await, ["of the short one"]);
        assert_eq!(contents(&long.user("ann"), "y").await, ["of the long one"]);
    }
}

#[tokio::test]
async fn no_route_shows_anything_of_another_tenant() {
    let (owner, other) = (Tenant::new("iso-owner"), Tenant::new("iso-other"));
    let ann = owner.user("ann");
    group(&ann, "room", &["ben"]).await;
    let receipt = say(&ann, "room", "secret").await;
    let msg_id = &receipt["msgId"];
    let of_room = json!({"conversationId": "room"});
    for client in [other.user("ann"), other.admin()] {
        client.post(PULL, of_room.clone()).await.refused("conversation_not_found");
        client.post(SYNC, of_room.clone()).await.refused("conversation_not_found");
        client.post(CONVERSATION, of_room.clone()).await.refused("conversation_not_found");
        let body = json!({"conversationId": "room", "msgIds": [msg_id]});
        client.post(GET, body).await.refused("conversation_not_found");
        let requests = json!({"requests": [of_room]});
        let answer = client.ok(PULL, requests).await;
        assert_eq!(answer["results"][0]["error"]["code"], "conversation_not_found");
        assert_eq!(client.ok(LIST, json!({})).await["conversations"], json!([]));
        let recalled = (RECALL, json!({"msgId": msg_id}));
        let edited = (EDIT, json!({"msgId": msg_id, "content": "mine"}));
        for (route, what) in
            [recalled, edited, (READ, json!({"msgId": msg_id})), (UPDATE, json!({"history": "from_join"}))]
        {
            let mut body = what;
            body["conversationId"] = "room".into();
            client.post(route, body).await.refused("conversation_not_found");
        }
        let muted = json!({"muted": ["room"]});
        client.post(PUSH_SETTINGS, muted).await.refused("invalid_request").naming("muted");
        assert_eq!(client.ok(GLOBAL, json!({})).await["changed"], json!([]));
        assert_eq!(client.ok(DIGEST, json!({})).await["conversations"], json!([]));
        assert_eq!(offline(&client).await, (0, 0));
    }
    let versions = json!({"conversationId": "room", "msgId": msg_id});
    other.admin().post(VERSIONS, versions).await.refused("conversation_not_found");
    let named = json!({"userId": "ann", "conversationId": "room"});
    other.service().post(PULL, named).await.refused("conversation_not_found");
    let status = other.admin().get(STATUS).await.ok();
    let tiers = ["hot", "sql", "cold"].map(|tier| shape::int(&status["tiers"], tier));
    assert_eq!(tiers, [0, 0, 0], "another tenant's messages are not counted");
}

#[tokio::test]
async fn devices_and_positions_of_another_tenant_are_others() {
    let tenants = [Tenant::new("iso-device-red"), Tenant::new("iso-device-blue")];
    for (n, tenant) in tenants.iter().enumerate() {
        let ann = tenant.user("ann");
        group(&ann, "room", &["ben"]).await;
        let receipts = say_many(&ann, "room", 5).await;
        let ben = tenant.device("ben", "phone");
        assert_eq!(devices(&ben, None).await, Vec::<String>::new());
        ben.ok(SYNC, json!({"conversationId": "room", "lastMsgId": receipts[n]["msgId"]})).await;
        read(&ben, "room", &receipts[n]["msgId"]).await;
    }
    assert_eq!(devices(&tenants[1].device("ben", "phone"), Some("phone")).await, Vec::<String>::new());
    let ben = tenants[0].device("ben", "phone");
    assert_eq!(devices(&ben, None).await, ["phone"]);
    assert_eq!(offline(&ben).await, (1, 4));
    assert_ne!(ben.ok(SYNC, json!({"conversationId": "room"})).await["position"], "0");
    // A cursor of one is no way into the other.
    let foreign = up_to_date(&tenants[0].user("ann")).await;
    let part = tenants[1].user("ben").ok(GLOBAL, json!({"cursor": foreign})).await;
    for one in shape::list(&part, "changed") {
        assert_eq!(one["headMsgId"], conversation(&tenants[1].user("ben"), "room").await["lastMsg"]["msgId"]);
    }
}

#[tokio::test]
async fn ids_of_another_tenant_lead_nowhere() {
    let (owner, other) = (Tenant::new("iso-ids-owner"), Tenant::new("iso-ids-other"));
    group(&owner.user("ann"), "room", &[]).await;
    let foreign = say(&owner.user("ann"), "room", "secret").await;
    let ann = other.user("ann");
    group(&ann, "room", &[]).await;
    let own = say(&ann, "room", "own").await;
    let body = json!({"conversationId": "room", "msgIds": [foreign["msgId"]]});
    let found = ann.ok(GET, body).await;
    // Two tenants may by chance use the same number; then it is the own message.
    if foreign["msgId"] != own["msgId"] {
        assert_eq!(found["messages"], json!([]));
    }
    let mut reply = text("room", "reply", "x");
    reply["replyTo"] = json!({"msgId": foreign["msgId"]});
    if foreign["msgId"] != own["msgId"] {
        ann.post(im_tests::routes::SEND, reply).await.refused("message_not_found");
        for by in [&ann, &other.admin()] {
            let body = json!({"conversationId": "room", "msgId": foreign["msgId"]});
            by.post(RECALL, body).await.refused("message_not_found");
        }
    }
    assert_eq!(contents(&owner.user("ann"), "room").await, ["secret"]);
    for direction in ["up", "down"] {
        let request = json!({
            "conversationId": "room", "lastMsgId": foreign["msgId"], "direction": direction,
        });
        let page = pull(&ann, request).await;
        assert!(shape::list(&page, "messages").iter().all(|message| message["content"] == "own"));
    }
}
