//! Proves on real chat that what goes in comes out: both samples (67,117 messages) are sent through
//! batches, every conversation is pulled back whole in both directions, in pages of 1, of 20 and of
//! 100 messages, and compared byte for byte, sending all of it again adds nothing, before and after
//! a restart, and a device that is killed again and again between its pages syncs everything exactly
//! once.
//!
//! The samples are loaded once, by whichever test comes first. Without `IM_URL` that happens on a
//! server of the suite's own, which is then restarted: the tests read what the restart left.

use fastrand::Rng;
use im_tests::client::Client;
use im_tests::process::Signal;
use im_tests::routes::{CONVERSATION, CREATE, SYNC};
use im_tests::samples::{Chat, Sample};
use im_tests::server::{Server, Setup};
use im_tests::talk::send_batch;
use im_tests::tenant::Tenant;
use im_tests::walk::{Direction, pull_all};
use im_tests::{raw, seed, shape};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use std::time::Instant;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

const MESSAGES: usize = 67_117;
/// Conversations in work at once.
const PARALLEL: usize = 8;

struct Loaded {
    chats: Vec<Arc<Chat>>,
    tenant: Tenant,
    /// By conversation, in order.
    receipts: Vec<Vec<Value>>,
    restarted: bool,
    _server: Option<Server>,
}

static LOADED: LazyLock<Loaded> = LazyLock::new(|| {
    // A runtime of its own: the tests have one each, and none outlives its test.
    let load = || tokio::runtime::Runtime::new().expect("a runtime").block_on(load());
    std::thread::spawn(load).join().expect("the samples are loaded")
});

async fn load() -> Loaded {
    let chats: Vec<Arc<Chat>> = Sample::ALL.into_iter().flat_map(Sample::chats).map(Arc::new).collect();
    assert_eq!(chats.iter().map(|chat| chat.lines.len()).sum::<usize>(), MESSAGES);
    let mut own = Server::own(Setup::default());
    let on = |own: &Option<Server>| Tenant::on(own.as_ref().unwrap_or_else(|| Server::shared()), "replay");
    let tenant = on(&own);
    let service = tenant.service();
    let receipts = for_each(&chats, |chat| replay(service.clone(), chat)).await;
    for (chat, receipts) in chats.iter().zip(&receipts) {
        let seqs: Vec<usize> =
            receipts.iter().map(|r| shape::int(r, "seq").try_into().expect("small")).collect();
        assert_eq!(seqs, (1..=chat.lines.len()).collect::<Vec<_>>(), "{}", chat.id);
        assert!(receipts.iter().all(|receipt| receipt["duplicate"] == false), "{}", chat.id);
    }
    if let Some(server) = &mut own {
        server.stop(Signal::Term);
        server.start_again();
    }
    Loaded { chats, tenant: on(&own), receipts, restarted: own.is_some(), _server: own }
}

/// Runs `work` on all conversations, several at a time; the results are in their order.
async fn for_each<R: Send + 'static, F: Future<Output = R> + Send + 'static>(
    chats: &[Arc<Chat>],
    mut work: impl FnMut(Arc<Chat>) -> F,
) -> Vec<R> {
    let places = Arc::new(Semaphore::new(PARALLEL));
    let mut tasks = JoinSet::new();
    for (n, chat) in chats.iter().enumerate() {
        let (places, job) = (Arc::clone(&places), work(Arc::clone(chat)));
        tasks.spawn(async move {
            let _place = places.acquire_owned().await.expect("never closed");
            (n, job.await)
        });
    }
    let mut results = tasks.join_all().await;
    results.sort_by_key(|(n, _)| *n);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Makes the conversation and sends its lines, each for its sender, under a stable id.
async fn replay(service: Client, chat: Arc<Chat>) -> Vec<Value> {
    let body = json!({
        "userId": chat.senders[0], "conversationId": chat.id, "type": "group",
        "members": chat.senders,
    });
    let made = service.patient(CREATE, body).await;
    assert_eq!(made["memberCount"], chat.senders.len());
    let messages: Vec<Value> = chat
        .lines
        .iter()
        .enumerate()
        .map(|(n, line)| {
            json!({
                "userId": line.sender_id, "conversationId": chat.id, "type": "text",
                "clientMsgId": format!("{}-{n}", chat.id), "clientTime": line.ts,
                "content": line.text,
            })
        })
        .collect();
    let mut receipts = Vec::with_capacity(messages.len());
    for batch in messages.chunks(100) {
        receipts.extend(send_batch(&service, batch).await);
    }
    receipts
}

/// Compares `messages`, oldest first, with the lines and their receipts.
fn equal(chat: &Chat, receipts: &[Value], messages: &[Value]) {
    assert_eq!(messages.len(), chat.lines.len(), "{}", chat.id);
    for (n, (line, message)) in chat.lines.iter().zip(messages).enumerate() {
        let place = format!("{} line {n}", chat.id);
        assert_eq!(message["content"], line.text, "{place}");
        assert_eq!(message["senderId"], line.sender_id, "{place}");
        assert_eq!(message["clientMsgId"], format!("{}-{n}", chat.id), "{place}");
        for field in ["msgId", "seq", "createTime"] {
            assert_eq!(message[field], receipts[n][field], "{place}: {field}");
        }
    }
}

/// Reads every conversation in pages of `limit`, both ways (at the same time, so that the longest
/// one is over sooner).
async fn pulled_back_whole(limit: usize) {
    let loaded = &*LOADED;
    let client = loaded.tenant.service();
    let began = Instant::now();
    let mut receipts = loaded.receipts.iter().cloned();
    let counts = for_each(&loaded.chats, |chat| {
        let reader = client.with_token(loaded.tenant.user(&chat.senders[0]).token());
        let receipts = receipts.next().expect("one list for each");
        async move {
            let (down, mut up) = tokio::join!(
                pull_all(&reader, &chat.id, Direction::Down, limit),
                pull_all(&reader, &chat.id, Direction::Up, limit),
            );
            equal(&chat, &receipts, &down);
            up.reverse();
            equal(&chat, &receipts, &up);
            down.len()
        }
    })
    .await;
    assert_eq!(counts.iter().sum::<usize>(), MESSAGES);
    println!("limit {limit}: {MESSAGES} messages both ways in {:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pulled_back_whole_one_by_one() {
    pulled_back_whole(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pulled_back_whole_in_pages_of_20() {
    pulled_back_whole(20).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pulled_back_whole_in_pages_of_100() {
    pulled_back_whole(100).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sent_again_it_adds_nothing() {
    let loaded = &*LOADED;
    println!("after a restart: {}", loaded.restarted);
    let service = loaded.tenant.service();
    // Twice: the second time nothing lies between but the first.
    for _ in 0..2 {
        let again = for_each(&loaded.chats, |chat| replay(service.clone(), chat)).await;
        for ((chat, first), again) in loaded.chats.iter().zip(&loaded.receipts).zip(&again) {
            for (first, again) in first.iter().zip(again) {
                assert_eq!(again["duplicate"], true, "{}", chat.id);
                for field in ["msgId", "seq", "createTime", "epoch"] {
                    assert_eq!(again[field], first[field], "{}: {field}", chat.id);
                }
            }
            let body = json!({"userId": chat.senders[0], "conversationId": chat.id});
            let found = service.ok(CONVERSATION, body).await;
            assert_eq!(found["headSeq"], chat.lines.len(), "{}", chat.id);
        }
    }
}

/// A device that keeps what it has got and may die at any moment.
struct Device {
    service: Client,
    /// Names the conversation, the user and the device.
    request: Value,
    kept: Vec<Value>,
}

impl Device {
    /// The next page is asked for, and the device dies before it has kept it.
    async fn dies_before_keeping(&self, request: &Value) {
        let (base, token) = (self.service.base().to_owned(), self.service.token().to_owned());
        let body = request.to_string();
        let call = move || raw::post_and_hang_up(&base, SYNC, &token, body.as_bytes());
        tokio::task::spawn_blocking(call).await.expect("no panic").expect("the server answers");
    }

    /// Syncs to the end; before a page it may die, and then comes back in one of two ways.
    async fn sync(mut self, mut rng: Rng) -> Vec<Value> {
        loop {
            let mut request = self.request.clone();
            if let Some(kept) = self.kept.last() {
                request["lastMsgId"] = kept["msgId"].clone();
            }
            match rng.u8(..4) {
                // It comes back, knows what it has and says so again.
                0 => self.dies_before_keeping(&request).await,
                // It comes back and relies on the position, which it had confirmed as it died.
                1 => {
                    self.dies_before_keeping(&request).await;
                    request = self.request.clone();
                }
                _ => {}
            }
            let page = self.service.patient(SYNC, request).await;
            shape::page(&page);
            let messages = shape::list(&page, "messages");
            if messages.is_empty() {
                assert_eq!(page["hasMore"], false);
                return self.kept;
            }
            self.kept.extend_from_slice(messages);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_killed_between_pages_syncs_everything_once() {
    let loaded = &*LOADED;
    let mut rng = seed::rng("a_device_killed_between_pages_syncs_everything_once");
    let name = format!("tablet-{:x}", rng.u32(..));
    let mut seeds: Vec<u64> = loaded.chats.iter().map(|_| rng.u64(..)).collect();
    let synced = for_each(&loaded.chats, |chat| {
        let request = json!({
            "userId": chat.senders[0], "deviceId": name, "conversationId": chat.id,
        });
        let device = Device { service: loaded.tenant.service(), request, kept: Vec::new() };
        device.sync(Rng::with_seed(seeds.pop().expect("one each")))
    })
    .await;
    for ((chat, receipts), kept) in loaded.chats.iter().zip(&loaded.receipts).zip(&synced) {
        equal(chat, receipts, kept);
    }
    assert_eq!(synced.iter().map(Vec::len).sum::<usize>(), MESSAGES);
}
