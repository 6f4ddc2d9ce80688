//! Devices that follow every room: they confirm what they have, and begin again when told to.

use super::load::Signs;
use im_tests::client::Client;
use im_tests::routes::SYNC;
use im_tests::shape;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(200);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long it may take to have everything once the writers have stopped.
const CAUGHT_UP_WITHIN: Duration = Duration::from_secs(120);

/// What a device has of a room.
pub struct Seen {
    pub room: String,
    pub messages: Vec<Value>,
    /// How often it was told to begin again.
    pub resets: usize,
    cursor: u64,
    epoch: Option<String>,
}

impl Seen {
    fn nothing(room: &str) -> Self {
        Self { room: room.to_owned(), messages: Vec::new(), resets: 0, cursor: 0, epoch: None }
    }

    fn request(&self) -> Value {
        let mut request = json!({"conversationId": self.room, "lastMsgId": self.cursor.to_string()});
        if let Some(epoch) = &self.epoch {
            request["epoch"] = epoch.as_str().into();
        }
        request
    }

    /// Takes a page in; says whether there may be more.
    fn take(&mut self, page: &Value) -> bool {
        shape::page(page);
        let epoch = shape::text(page, "epoch").to_owned();
        if let Some(reset) = page.get("reset") {
            let afresh = self.cursor == 0 && self.epoch.as_ref() == Some(&epoch);
            assert!(!afresh, "{}: told to begin again at the beginning: {reset}", self.room);
            let resets = self.resets + 1;
            *self = Self { resets, epoch: Some(epoch), ..Self::nothing(&self.room) };
            return true;
        }
        self.epoch = Some(epoch);
        for message in shape::list(page, "messages") {
            let id = shape::id(message, "msgId");
            assert!(id > self.cursor, "{}: {id} after {}", self.room, self.cursor);
            self.cursor = id;
            self.messages.push(message.clone());
        }
        assert_eq!(self.cursor, shape::id(page, "cursor"), "{}: {page}", self.room);
        shape::flag(page, "hasMore")
    }
}

/// Follows until told to stop, and then until it has everything. `hosts`: the device on each host.
pub async fn follow(hosts: Vec<Client>, rooms: Arc<Vec<String>>, signs: Arc<Signs>) -> Vec<Seen> {
    let mut all: Vec<Seen> = rooms.iter().map(|room| Seen::nothing(room)).collect();
    let mut host = 0;
    let mut end = None;
    loop {
        let stop = signs.followers_stop();
        let mut idle = true;
        for seen in &mut all {
            match page(&hosts[host], &seen.request()).await {
                Some(page) => {
                    let before = seen.messages.len();
                    let more = seen.take(&page);
                    idle &= !more && seen.messages.len() == before;
                }
                None => {
                    idle = false;
                    host = (host + 1) % hosts.len();
                    tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
                }
            }
        }
        if stop && idle {
            return all;
        }
        if stop {
            let end = *end.get_or_insert_with(|| Instant::now() + CAUGHT_UP_WITHIN);
            assert!(Instant::now() < end, "a device does not get everything");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// None when the server could not answer for now.
async fn page(device: &Client, request: &Value) -> Option<Value> {
    let answer = tokio::time::timeout(ANSWER_WITHIN, device.try_post(SYNC, request)).await.ok()??;
    if answer.status == 503 || answer.status == 429 {
        return None;
    }
    Some(answer.ok())
}
