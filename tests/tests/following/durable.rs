//! What devices and users have done is there after a kill, on a server of the suite's own; and after the
//! hot store has been lost, where there is one, once it was drained. Skipped where `IM_URL` is set.

use im_tests::follow::{devices, global_all, offline, read, up_to_date, update};
use im_tests::model::ModelDevice;
use im_tests::process::Signal;
use im_tests::push::settings;
use im_tests::routes::SYNC;
use im_tests::server::{Server, Setup};
use im_tests::talk::{conversation, group, say, say_many};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};

const LABEL: &str = "follow-kill";

#[tokio::test]
async fn positions_and_settings_outlive_a_kill() {
    let Some(mut server) = Server::own(Setup::default()) else { return };
    let tenant = Tenant::on(&server, LABEL);
    let (ann, ben) = (tenant.user("ann"), tenant.user("ben"));
    for room in ["room", "other"] {
        group(&ann, room, &["ben"]).await;
    }
    let receipts = say_many(&ann, "room", 9).await;
    say_many(&ann, "other", 2).await;
    ben.ok(SYNC, json!({"conversationId": "room", "lastMsgId": receipts[4]["msgId"]})).await;
    read(&ben, "room", &receipts[2]["msgId"]).await;
    update(&ben, "other", json!({"muted": true})).await;
    settings(&ben, json!({"showContent": false})).await;
    let cursor = up_to_date(&ben).await;
    let last = say(&ann, "room", "after").await;
    for signal in [Signal::Kill, Signal::Term] {
        server.stop(signal);
        server.start_again();
        let ben = Tenant::on(&server, LABEL).user("ben");
        let page = ben.ok(SYNC, json!({"conversationId": "room"})).await;
        assert_eq!(page["position"], receipts[4]["msgId"]);
        let found = conversation(&ben, "room").await;
        assert_eq!((&found["readMsgId"], &found["unread"]), (&receipts[2]["msgId"], &json!(7)));
        assert_eq!(conversation(&ben, "other").await["muted"], true);
        assert_eq!(settings(&ben, json!({})).await, json!({"showContent": false, "muted": ["other"]}));
        assert_eq!(devices(&ben, None).await, ["ben-phone"]);
        assert_eq!(offline(&ben).await, (2, 9));
        let (changed, next) = global_all(&ben, &cursor, 100).await;
        assert_eq!(changed.len(), 1, "{changed:?}");
        assert_eq!(changed[0]["headMsgId"], last["msgId"]);
        assert_eq!(global_all(&ben, &next, 100).await.0, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn a_device_follows_through_kills() {
    let Some(mut server) = Server::own(Setup::default()) else { return };
    let label = "follow-kills";
    let mut sent = 0;
    group(&Tenant::on(&server, label).user("ann"), "room", &["ben"]).await;
    for round in 0..3 {
        let tenant = Tenant::on(&server, label);
        for _ in 0..20 {
            sent += 1;
            say(&tenant.user("ann"), "room", &sent.to_string()).await;
        }
        // A device that has nothing, and one that has something: both end up with everything.
        let mut device = ModelDevice::new(tenant.device("ben", &format!("device-{round}")), 7);
        device.step().await;
        server.stop(Signal::Kill);
        server.start_again();
        let tenant = Tenant::on(&server, label);
        say(&tenant.user("ann"), "room", &format!("after {round}")).await;
        device.moved_to(tenant.device("ben", &format!("device-{round}")));
        device.until_quiet().await;
        device.has_everything().await;
        assert_eq!(device.resets, 0, "a kill of the host loses nothing");
    }
}
