//! Proves that a user's devices are known once they have synced, and that one that is forgotten leaves
//! nothing behind and starts anew.

use im_tests::client::Client;
use im_tests::follow::{devices, global};
use im_tests::routes::{DEVICES, DIGEST, GLOBAL, MEMBERS, SYNC};
use im_tests::shape;
use im_tests::talk::{group, say_many};
use im_tests::tenant::Tenant;
use im_tests::token;
use serde_json::{Value, json};

async fn sync(device: &Client, last: Option<&Value>) -> Value {
    let mut request = json!({"conversationId": "room"});
    if let Some(last) = last {
        request["lastMsgId"] = last.clone();
    }
    device.ok(SYNC, request).await
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[tokio::test]
async fn each_way_to_sync_makes_a_device_known() {
    let tenant = Tenant::new("devices-known");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    let ben = |device: &str| tenant.device("ben", device);
    assert_eq!(devices(&ben("phone"), None).await, Vec::<String>::new(), "to ask is not to sync");
    sync(&ben("phone"), None).await;
    assert_eq!(devices(&ben("phone"), None).await, ["phone"]);
    ben("laptop").ok(GLOBAL, json!({})).await;
    ben("tablet").ok(DIGEST, json!({})).await;
    assert_eq!(sorted(devices(&ben("phone"), None).await), ["laptop", "phone", "tablet"]);
    let by_service = json!({"userId": "ben", "deviceId": "watch"});
    tenant.service().ok(GLOBAL, by_service).await;
    assert_eq!(devices(&ben("phone"), None).await.len(), 4);
    // Without a device there is none to be known.
    let claims = token::claims(&tenant.name, "ben", None, "user");
    global(&tenant.claiming(&claims), json!({})).await;
    tenant.service().ok(DIGEST, json!({"userId": "ben"})).await;
    assert_eq!(devices(&ben("phone"), None).await.len(), 4);
    assert_eq!(devices(&tenant.user("ann"), None).await, Vec::<String>::new(), "nobody else's");
}

#[tokio::test]
async fn syncing_again_is_the_same_device() {
    let tenant = Tenant::new("devices-again");
    let ben = tenant.device("ben", "phone");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    for _ in 0..5 {
        sync(&ben, None).await;
        ben.ok(GLOBAL, json!({})).await;
    }
    assert_eq!(devices(&ben, None).await, ["phone"]);
}

#[tokio::test]
async fn a_service_asks_for_the_user_it_names() {
    let tenant = Tenant::new("devices-service");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    sync(&tenant.device("ben", "phone"), None).await;
    let service = tenant.service();
    let answer = service.ok(DEVICES, json!({"userId": "ben"})).await;
    assert_eq!(answer["devices"][0]["deviceId"], "phone");
    let answer = service.ok(DEVICES, json!({"userId": "ben", "forget": "phone"})).await;
    assert_eq!(answer["devices"], json!([]));
    let ben = tenant.device("ben", "phone");
    assert_eq!(ben.post_bytes(DEVICES, "").await.ok()["devices"], json!([]), "no body is an empty one");
}

#[tokio::test]
async fn a_forgotten_device_has_no_positions_and_starts_anew() {
    let tenant = Tenant::new("devices-forget");
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    group(&ann, "left", &["ben"]).await;
    let receipts = say_many(&ann, "room", 5).await;
    let elsewhere = say_many(&ann, "left", 5).await;
    let (phone, laptop) = (tenant.device("ben", "phone"), tenant.device("ben", "laptop"));
    for device in [&phone, &laptop, &tenant.device("ann", "phone")] {
        sync(device, Some(&receipts[3]["msgId"])).await;
    }
    phone.ok(SYNC, json!({"conversationId": "left", "lastMsgId": elsewhere[2]["msgId"]})).await;
    ann.ok(MEMBERS, json!({"conversationId": "left", "remove": ["ben"]})).await;

    assert_eq!(devices(&laptop, Some("phone")).await, ["laptop"]);
    assert_eq!(devices(&laptop, Some("phone")).await, ["laptop"], "one that is unknown is no error");
    assert_eq!(devices(&laptop, Some("never-seen")).await, ["laptop"]);
    assert_eq!(sync(&laptop, None).await["position"], receipts[3]["msgId"]);
    assert_eq!(sync(&tenant.device("ann", "phone"), None).await["position"], receipts[3]["msgId"]);
    let page = sync(&phone, None).await;
    assert_eq!((&page["position"], page.get("reset")), (&json!("0"), None));
    assert_eq!(shape::list(&page, "messages").len(), 5);
    assert_eq!(sorted(devices(&phone, None).await), ["laptop", "phone"], "it has synced again");
    // Those of conversations that the user had left are gone too.
    ann.ok(MEMBERS, json!({"conversationId": "left", "add": ["ben"]})).await;
    assert_eq!(phone.ok(SYNC, json!({"conversationId": "left"})).await["position"], "0");
}

#[tokio::test]
async fn a_device_may_forget_itself() {
    let tenant = Tenant::new("devices-self");
    let phone = tenant.device("ben", "phone");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    let receipts = say_many(&tenant.user("ann"), "room", 3).await;
    sync(&phone, Some(&receipts[2]["msgId"])).await;
    assert_eq!(devices(&phone, Some("phone")).await, Vec::<String>::new());
    assert_eq!(sync(&phone, None).await["position"], "0");
}

#[tokio::test]
async fn the_hundred_and_first_device_takes_the_place_of_one() {
    let tenant = Tenant::new("devices-many");
    group(&tenant.user("ann"), "room", &["ben"]).await;
    for n in 0..=100 {
        sync(&tenant.device("ben", &format!("device-{n}")), None).await;
    }
    let known = devices(&tenant.user("ben"), None).await;
    assert_eq!(known.len(), 100);
    assert!(known.contains(&"device-100".to_owned()), "the newest is there");
}
