//! Devices that follow while fifty write, as fast as they can, and come and go.

use im_tests::client::Client;
use im_tests::follow::read;
use im_tests::model::ModelDevice;
use im_tests::routes::{MEMBERS, SYNC};
use im_tests::shape;
use im_tests::talk::{group, say, say_many};
use im_tests::tenant::Tenant;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::JoinSet;

const WRITERS: usize = 50;
const ROOMS: usize = 5;
const MESSAGES_OF_A_WRITER: usize = 12;

fn room(n: usize) -> String {
    format!("room-{}", n % ROOMS)
}

async fn write(writer: Client, name: String, first: usize) {
    for n in 0..MESSAGES_OF_A_WRITER {
        say(&writer, &room(first + n), &format!("{name}-{n}")).await;
    }
}

/// Follows until the writers have ended, and then to the end. Its place in a room never goes back.
async fn follow(client: Client, limit: usize, ended: Arc<AtomicBool>) -> ModelDevice {
    let mut device = ModelDevice::new(client.clone(), limit);
    let mut places = [0; ROOMS];
    loop {
        let last = ended.load(Ordering::Acquire);
        device.until_quiet().await;
        for (n, before) in places.iter_mut().enumerate() {
            let body = json!({"conversationId": room(n), "limit": 1});
            let place = shape::id(&client.patient(SYNC, body).await, "position");
            assert!(place >= *before, "{} after {before}", place);
            *before = place;
        }
        if last {
            return device;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_devices_of_a_user_and_fifty_writers() {
    let tenant = Tenant::new("follow-fifty");
    let names: Vec<String> = (0..WRITERS).map(|n| format!("writer-{n}")).collect();
    let mut members: Vec<&str> = names.iter().map(String::as_str).collect();
    members.push("ben");
    for n in 0..ROOMS {
        group(&tenant.user("ann"), &room(n), &members).await;
    }
    let ended = Arc::new(AtomicBool::new(false));
    let mut followers = JoinSet::new();
    for (device, limit) in [("phone", 3), ("laptop", 100)] {
        let client = tenant.device("ben", device).fresh();
        followers.spawn(follow(client, limit, Arc::clone(&ended)));
    }
    let mut writers = JoinSet::new();
    for (n, name) in names.iter().enumerate() {
        writers.spawn(write(tenant.user(name).fresh(), name.clone(), n));
    }
    writers.join_all().await;
    ended.store(true, Ordering::Release);
    for device in followers.join_all().await {
        device.has_everything().await;
        let total: usize =
            (0..ROOMS).map(|n| device.kept(&room(n)).expect("it is there").messages.len()).sum();
        assert_eq!(total, WRITERS * MESSAGES_OF_A_WRITER);
        assert_eq!(device.resets, 0, "nothing was lost");
    }
}

/// Members come and go and read while others write; who is no member in the end knows it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changes_while_it_is_followed_is_never_stepped_over() {
    let tenant = Tenant::new("follow-all");
    let ann = tenant.user("ann");
    for n in 0..ROOMS {
        group(&ann, &room(n), &["ben", "cid"]).await;
    }
    let ended = Arc::new(AtomicBool::new(false));
    let mut followers = JoinSet::new();
    for (user, limit) in [("ben", 2), ("ben", 100), ("cid", 1)] {
        let client = tenant.device(user, &format!("{user}-{limit}")).fresh();
        let ended = Arc::clone(&ended);
        followers.spawn(async move {
            let mut device = ModelDevice::new(client, limit);
            loop {
                let last = ended.load(Ordering::Acquire);
                device.until_quiet().await;
                if last {
                    return device;
                }
            }
        });
    }
    let mut changes = JoinSet::new();
    for n in 0..ROOMS {
        let (ann, ben) = (ann.fresh(), tenant.user("ben").fresh());
        changes.spawn(async move {
            let id = room(n);
            for round in 0..10 {
                let receipt = say(&ann, &id, &format!("{round}")).await;
                if round % 3 == 0 {
                    read(&ben, &id, &receipt["msgId"]).await;
                }
                // Cid is out of every other room in the end.
                let change = if (round + n) % 2 == 0 { "remove" } else { "add" };
                ann.patient(MEMBERS, json!({"conversationId": id, change: ["cid"]})).await;
            }
        });
        let ann = tenant.user("ann").fresh();
        changes.spawn(async move {
            let id = format!("new-{n}");
            group(&ann, &id, &["ben", "cid"]).await;
            say_many(&ann, &id, 30).await;
        });
    }
    changes.join_all().await;
    ended.store(true, Ordering::Release);
    for device in followers.join_all().await {
        device.has_everything().await;
        assert_eq!(device.resets, 0, "nothing was lost");
    }
}
