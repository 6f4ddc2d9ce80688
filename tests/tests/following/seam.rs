//! Groups of more than 500 members are looked up, smaller ones are noted for each member: nothing is lost
//! where a group grows or shrinks from one to the other, whenever its members look.

use im_tests::client::Client;
use im_tests::follow::{conversation_ids, global_all, has_kind, read, up_to_date, update};
use im_tests::model::ModelDevice;
use im_tests::recall::recall;
use im_tests::routes::MEMBERS;
use im_tests::seed;
use im_tests::shape;
use im_tests::talk::{conversation, group, say};
use im_tests::tenant::Tenant;
use im_tests::walk::list_all;
use serde_json::{Value, json};

/// Members of the largest group that is noted for each.
const NOTED_MEMBERS_MAX: usize = 500;

/// A group of the largest size that is noted, with Ann and Ben in it.
async fn largest_noted(tenant: &Tenant) -> Client {
    let ann = tenant.user("ann");
    let mut members: Vec<String> = (2..NOTED_MEMBERS_MAX).map(|n| format!("user-{n}")).collect();
    members.push("ben".to_owned());
    let names: Vec<&str> = members.iter().map(String::as_str).collect();
    let made = group(&ann, "room", &names).await;
    assert_eq!(made["memberCount"], NOTED_MEMBERS_MAX);
    ann
}

async fn change(ann: &Client, how: &str, users: &[&str]) -> Value {
    ann.patient(MEMBERS, json!({"conversationId": "room", how: users})).await
}

#[tokio::test]
async fn a_group_that_grows_and_shrinks_loses_nothing() {
    let tenant = Tenant::new("seam-both");
    let ann = largest_noted(&tenant).await;
    group(&ann, "small", &["ben"]).await;
    let device = |name: &str| ModelDevice::new(tenant.device("ben", name), 7);
    // One looks after every step, one after every third, one in the end.
    let (mut always, mut sometimes, mut never) = (device("always"), device("sometimes"), device("never"));
    never.until_quiet().await;
    for step in 0..18 {
        match step % 6 {
            0 => drop(say(&ann, "room", &format!("noted {step}")).await),
            1 => drop(change(&ann, "add", &["one", "two"]).await),
            2 => drop(say(&ann, "room", &format!("looked up {step}")).await),
            3 => drop(say(&ann, "small", &format!("small {step}")).await),
            4 => drop(change(&ann, "remove", &["one", "two"]).await),
            _ => drop(read(&tenant.user("ben"), "room", &json!(0)).await),
        }
        always.until_quiet().await;
        always.has_everything().await;
        if step % 3 == 2 {
            sometimes.until_quiet().await;
            sometimes.has_everything().await;
        }
    }
    never.until_quiet().await;
    for device in [&always, &sometimes, &never] {
        device.has_everything().await;
        assert_eq!(device.resets, 0);
    }
}

/// What was said on one side of the seam is named on the other.
#[tokio::test]
async fn a_cursor_from_before_the_seam_is_good_after_it() {
    let tenant = Tenant::new("seam-cursor");
    let (ann, ben) = (largest_noted(&tenant).await, tenant.user("ben"));
    for (how, back) in [("add", "remove"), ("remove", "add")] {
        if how == "remove" {
            change(&ann, "add", &["one"]).await;
        }
        // Said before, after, and both.
        for (before, after) in [(true, false), (false, true), (true, true)] {
            let cursor = up_to_date(&ben).await;
            let mut last = json!(null);
            if before {
                last = say(&ann, "room", &format!("{how} {before} {after} 1")).await["msgId"].clone();
            }
            change(&ann, how, &["one"]).await;
            if after {
                last = say(&ann, "room", &format!("{how} {before} {after} 2")).await["msgId"].clone();
            }
            let (changed, next) = global_all(&ben, &cursor, 100).await;
            assert_eq!(conversation_ids(&changed), ["room"], "{how} {before} {after}");
            assert!(has_kind(&changed[0], "messages"), "{changed:?}");
            assert_eq!(changed[0]["headMsgId"], last);
            assert_eq!(changed[0]["unread"], conversation(&ben, "room").await["unread"]);
            assert_eq!(global_all(&ben, &next, 100).await.0, Vec::<Value>::new());
            change(&ann, back, &["one"]).await;
        }
    }
}

#[tokio::test]
async fn a_large_group_tells_its_members_what_a_small_one_does() {
    let tenant = Tenant::new("seam-large");
    let (ann, ben) = (largest_noted(&tenant).await, tenant.user("ben"));
    change(&ann, "add", &["one"]).await;
    group(&ann, "small", &["ben"]).await;
    let mut cursor = up_to_date(&ben).await;
    let mut only = async |kind: &str| {
        let (changed, next) = global_all(&ben, &cursor, 100).await;
        assert_eq!(conversation_ids(&changed), ["room"], "{kind}");
        assert!(has_kind(&changed[0], kind), "{kind}: {changed:?}");
        assert_eq!(global_all(&ben, &next, 100).await.0, Vec::<Value>::new(), "{kind}: told once");
        cursor = next;
        changed[0].clone()
    };
    let receipt = say(&ann, "room", "hello").await;
    assert_eq!(only("messages").await["headMsgId"], receipt["msgId"]);
    read(&ben, "room", &receipt["msgId"]).await;
    assert_eq!(only("read").await["unread"], 0);
    let answer = recall(&ann, "room", &receipt["msgId"]).await;
    assert_eq!(only("revisions").await["headMsgId"], answer["controlMsgId"]);
    update(&ben, "room", json!({"muted": true})).await;
    only("membership").await;
    change(&ann, "add", &["two"]).await;
    only("membership").await;
    ann.patient(MEMBERS, json!({"conversationId": "room", "roles": {"ben": "admin"}})).await;
    only("membership").await;
    change(&ann, "remove", &["ben"]).await;
    assert_eq!(only("membership").await["left"], true);
    change(&ann, "add", &["ben"]).await;
    assert_eq!(only("membership").await.get("left"), None);
}

#[tokio::test]
async fn a_large_group_stands_in_the_list_where_its_last_message_puts_it() {
    let tenant = Tenant::new("seam-list");
    let (ann, ben) = (largest_noted(&tenant).await, tenant.user("ben"));
    change(&ann, "add", &["one"]).await;
    let top = async || shape::text(&list_all(&ben, 2).await[0], "conversationId").to_owned();
    for n in 0..3 {
        for room in ["room", "small", "smaller"] {
            if n == 0 && room != "room" {
                group(&ann, room, &["ben"]).await;
            }
            say(&ann, room, &n.to_string()).await;
            assert_eq!(top().await, room);
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    }
    // Neither side of the seam moves it.
    for how in ["remove", "add"] {
        change(&ann, how, &["one"]).await;
        let listed = list_all(&ben, 2).await;
        assert_eq!(conversation_ids(&listed), ["smaller", "small", "room"], "{how}");
    }
}

/// Random steps on both sides of the seam, among them those of members who come, go and read.
#[tokio::test]
async fn random_steps_across_the_seam() {
    let mut rng = seed::rng("random_steps_across_the_seam");
    let tenant = Tenant::new("seam-random");
    let ann = largest_noted(&tenant).await;
    let device = |user: &str| ModelDevice::new(tenant.device(user, &format!("{user}-model")), 5);
    let mut devices = [device("ann"), device("ben"), device("one"), device("two")];
    let mut inside = [false, false];
    let mut said = Vec::new();
    for step in 0..60 {
        match rng.u8(..6) {
            0 | 1 => said.push(say(&ann, "room", &step.to_string()).await["msgId"].clone()),
            5 => {
                if let Some(id) = rng.choice(&said) {
                    recall(&ann, "room", id).await;
                }
            }
            2 => {
                let head = conversation(&ann, "room").await["lastMsg"]["msgId"].clone();
                let head = if head.is_null() { json!(0) } else { head };
                read(&tenant.user("ben"), "room", &head).await;
            }
            _ => {
                let who = rng.usize(..2);
                let how = if inside[who] { "remove" } else { "add" };
                change(&ann, how, &[["one", "two"][who]]).await;
                inside[who] = !inside[who];
            }
        }
        let device = rng.choice(&mut devices).expect("there are some");
        if rng.bool() {
            device.until_quiet().await;
            device.has_everything().await;
        }
    }
    for device in &mut devices {
        device.until_quiet().await;
        device.has_everything().await;
    }
}
