//! Proves that `sync` gives a device what it has not confirmed: its position moves by confirmation
//! alone, never back, and a device whose place is no good is told so.

use im_tests::client::Client;
use im_tests::routes::SYNC;
use im_tests::shape;
use im_tests::talk::{group, ids, pull, say_many, texts};
use im_tests::tenant::Tenant;
use im_tests::walk::sync_all;
use serde_json::{Value, json};

async fn sync(device: &Client, what: Value) -> Value {
    let mut request = what;
    request["conversationId"] = "room".into();
    let page = device.ok(SYNC, request).await;
    shape::page(&page);
    shape::id(&page, "position");
    page
}

async fn room(tenant: &Tenant, count: usize) -> Vec<Value> {
    let ann = tenant.user("ann");
    group(&ann, "room", &["ben"]).await;
    say_many(&ann, "room", count).await
}

#[tokio::test]
async fn a_new_device_gets_everything_oldest_first() {
    let tenant = Tenant::new("sync-new");
    let receipts = room(&tenant, 120).await;
    let page = sync(&tenant.user("ben"), json!({})).await;
    assert_eq!(ids(shape::list(&page, "messages")), ids(&receipts[..100]), "100 is the default");
    assert_eq!(page["hasMore"], true);
    assert_eq!(page["position"], "0");
    assert_eq!(page["headSeq"], 120);
    assert_eq!(page.get("reset"), None);
}

#[tokio::test]
async fn an_answer_alone_moves_nothing() {
    let tenant = Tenant::new("sync-still");
    room(&tenant, 5).await;
    let ben = tenant.user("ben");
    let first = sync(&ben, json!({"limit": 2})).await;
    let again = sync(&ben, json!({"limit": 2})).await;
    assert_eq!(first, again);
}

#[tokio::test]
async fn a_confirmation_moves_the_position() {
    let tenant = Tenant::new("sync-confirm");
    let receipts = room(&tenant, 5).await;
    let ben = tenant.user("ben");
    let page = sync(&ben, json!({"lastMsgId": receipts[1]["msgId"], "limit": 2})).await;
    assert_eq!(texts(shape::list(&page, "messages")), ["3", "4"]);
    assert_eq!(page["position"], receipts[1]["msgId"]);
    let page = sync(&ben, json!({})).await;
    assert_eq!(texts(shape::list(&page, "messages")), ["3", "4", "5"], "from the position");
    let page = sync(&ben, json!({"lastMsgId": receipts[4]["msgId"]})).await;
    assert_eq!(page["messages"], json!([]));
    assert_eq!(page["hasMore"], false);
    assert_eq!(page["cursor"], receipts[4]["msgId"]);
    let page = sync(&ben, json!({})).await;
    assert_eq!(page["messages"], json!([]));
    assert_eq!(page["position"], receipts[4]["msgId"]);
    assert_eq!(page["cursor"], receipts[4]["msgId"]);
}

#[tokio::test]
async fn a_lower_confirmation_only_reads_again() {
    let tenant = Tenant::new("sync-lower");
    let receipts = room(&tenant, 5).await;
    let ben = tenant.user("ben");
    sync(&ben, json!({"lastMsgId": receipts[3]["msgId"]})).await;
    for (lower, wanted) in
        [(receipts[0]["msgId"].clone(), vec!["2", "3", "4", "5"]), (json!(0), vec!["1", "2", "3", "4", "5"])]
    {
        let page = sync(&ben, json!({"lastMsgId": lower})).await;
        assert_eq!(texts(shape::list(&page, "messages")), wanted);
        assert_eq!(page["position"], receipts[3]["msgId"]);
        assert_eq!(page.get("reset"), None);
    }
    let page = sync(&ben, json!({})).await;
    assert_eq!(texts(shape::list(&page, "messages")), ["5"]);
}

#[tokio::test]
async fn auto_advance_moves_as_the_answer_is_sent() {
    let tenant = Tenant::new("sync-auto");
    let receipts = room(&tenant, 5).await;
    let ben = tenant.user("ben");
    let request = json!({"limit": 2, "autoAdvance": true});
    for wanted in [vec!["1", "2"], vec!["3", "4"], vec!["5"], vec![]] {
        let page = sync(&ben, request.clone()).await;
        assert_eq!(texts(shape::list(&page, "messages")), wanted);
    }
    assert_eq!(sync(&ben, json!({})).await["position"], receipts[4]["msgId"]);
}

#[tokio::test]
async fn each_device_has_a_position_of_its_own() {
    let tenant = Tenant::new("sync-devices");
    let receipts = room(&tenant, 5).await;
    let (phone, tablet) = (tenant.device("ben", "phone"), tenant.device("ben", "tablet"));
    sync(&phone, json!({"lastMsgId": receipts[4]["msgId"]})).await;
    assert_eq!(sync(&tablet, json!({})).await["position"], "0");
    // A device of the same name, but of another user, is another device.
    assert_eq!(sync(&tenant.device("ann", "phone"), json!({})).await["position"], "0");
    assert_eq!(sync(&phone, json!({})).await["position"], receipts[4]["msgId"]);
}

#[tokio::test]
async fn scrolling_moves_no_position() {
    let tenant = Tenant::new("sync-scroll");
    room(&tenant, 5).await;
    let ben = tenant.user("ben");
    for direction in ["up", "down"] {
        pull(&ben, json!({"conversationId": "room", "direction": direction})).await;
    }
    let page = sync(&ben, json!({})).await;
    assert_eq!(page["position"], "0");
    assert_eq!(shape::list(&page, "messages").len(), 5);
}

#[tokio::test]
async fn a_service_names_the_user_and_the_device() {
    let tenant = Tenant::new("sync-service");
    let receipts = room(&tenant, 3).await;
    let service = tenant.service();
    let confirm = json!({"userId": "ben", "deviceId": "ben-phone", "lastMsgId": receipts[1]["msgId"]});
    assert_eq!(sync(&service, confirm).await["position"], receipts[1]["msgId"]);
    let page = sync(&tenant.user("ben"), json!({})).await;
    assert_eq!(texts(shape::list(&page, "messages")), ["3"], "the very same device");
}

#[tokio::test]
async fn a_place_beyond_the_head_is_reset_and_not_believed() {
    let tenant = Tenant::new("sync-ahead");
    let receipts = room(&tenant, 3).await;
    let ben = tenant.user("ben");
    sync(&ben, json!({"lastMsgId": receipts[0]["msgId"]})).await;
    let beyond = shape::id(&receipts[2], "msgId") + 1_000_000;
    let page = sync(&ben, json!({"lastMsgId": beyond.to_string()})).await;
    assert_eq!(page["reset"]["reason"], "position_ahead");
    assert_eq!(page["reset"]["oldestMsgId"], receipts[0]["msgId"]);
    assert_eq!(page["position"], receipts[0]["msgId"], "unchanged");
    // The full resync that a reset asks for.
    let all = sync_all(&ben, json!({"conversationId": "room", "lastMsgId": 0, "limit": 2})).await;
    assert_eq!(ids(&all), ids(&receipts));
}

#[tokio::test]
async fn a_place_of_another_epoch_is_reset() {
    let tenant = Tenant::new("sync-epoch");
    let receipts = room(&tenant, 3).await;
    let ben = tenant.user("ben");
    let epoch = shape::text(&receipts[0], "epoch");
    let last = &receipts[0]["msgId"];
    let page = sync(&ben, json!({"lastMsgId": last, "epoch": epoch})).await;
    assert_eq!(page.get("reset"), None, "the present epoch is good");
    // As long as the true one, and of the same characters.
    let other: String = epoch.chars().map(|c| if c == '1' { '2' } else { '1' }).collect();
    let page = sync(&ben, json!({"lastMsgId": last, "epoch": other})).await;
    assert_eq!(page["reset"]["reason"], "epoch_changed");
    assert_eq!(page["reset"]["oldestMsgId"], receipts[0]["msgId"]);
    assert_eq!(page["epoch"], epoch);
}
