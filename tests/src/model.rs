//! A device as a client would write it: it keeps what it has been given, asks `sync/global` what has
//! changed and `msg/sync` for what it lacks, does what control messages tell, and begins again where it is
//! told to. What it has in the end must be what its user may read.

use crate::client::Client;
use crate::follow::global;
use crate::routes::{GET, SYNC};
use crate::shape;
use crate::walk::{Direction, list_all, pull_all, pull_where};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// More rounds than any test needs: a device that gets here never comes to rest.
const ROUNDS_MAX: usize = 10_000;
/// How much of a message a quote shows.
const PREVIEW_CHARS: usize = 100;

/// What a device has of one conversation.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// By id.
    pub messages: BTreeMap<u64, Value>,
    /// That of the last page.
    epoch: Option<String>,
    pub unread: u64,
    pub read_msg_id: u64,
}

pub struct ModelDevice {
    client: Client,
    /// Empty at first.
    cursor: String,
    kept: BTreeMap<String, Kept>,
    /// What `global` has named since a reset: when it ends, nothing else is a conversation of the user.
    since_reset: Option<BTreeSet<String>>,
    /// Conversations that one page, or one part, asks for at a time.
    limit: usize,
    pub resets: usize,
}

impl ModelDevice {
    pub fn new(client: Client, limit: usize) -> Self {
        Self { client, cursor: String::new(), kept: BTreeMap::new(), since_reset: None, limit, resets: 0 }
    }

    /// Goes on at another address of its server.
    pub fn moved_to(&mut self, client: Client) {
        self.client = client;
    }

    /// Asks once what has changed and fetches all of it; says whether there may be more.
    pub async fn step(&mut self) -> bool {
        let part = global(&self.client, json!({"cursor": self.cursor, "limit": self.limit})).await;
        if let Some(reset) = part.get("reset") {
            println!("global after {}: {reset}", self.cursor);
            self.resets += 1;
            self.since_reset = Some(BTreeSet::new());
        }
        let changed = shape::list(&part, "changed");
        for one in changed {
            self.apply(one).await;
        }
        self.cursor = shape::text(&part, "cursor").to_owned();
        let more = part["hasMore"] == true;
        if let Some(named) = self.since_reset.take_if(|_| !more) {
            self.kept.retain(|id, _| named.contains(id));
        }
        more || !changed.is_empty()
    }

    /// As [`Self::step`], but the answer is lost on its way: the device knows nothing of it.
    pub async fn step_in_vain(&self) {
        let part = global(&self.client, json!({"cursor": self.cursor, "limit": self.limit})).await;
        for one in shape::list(&part, "changed") {
            let id = shape::text(one, "conversationId");
            let last = self.kept.get(id).map_or(0, Kept::last);
            let request = json!({"conversationId": id, "lastMsgId": last.to_string(), "limit": self.limit});
            self.client.patient_post(SYNC, request).await;
        }
    }

    /// Asks until nothing is new.
    pub async fn until_quiet(&mut self) {
        for _ in 0..ROUNDS_MAX {
            if !self.step().await {
                return;
            }
        }
        panic!("something new {ROUNDS_MAX} times");
    }

    async fn apply(&mut self, one: &Value) {
        let id = shape::text(one, "conversationId").to_owned();
        if one.get("left").is_some() {
            self.kept.remove(&id);
            return;
        }
        if let Some(named) = &mut self.since_reset {
            named.insert(id.clone());
        }
        let mut kept = self.kept.remove(&id).unwrap_or_default();
        kept.unread = shape::int(one, "unread");
        kept.read_msg_id = shape::id(one, "readMsgId");
        if self.catch_up(&id, &mut kept).await {
            self.kept.insert(id, kept);
        }
    }

    /// Fetches what is missing; false where the user has been removed meanwhile.
    async fn catch_up(&mut self, id: &str, kept: &mut Kept) -> bool {
        for _ in 0..ROUNDS_MAX {
            let answer = self.client.patient_post(SYNC, kept.request(id, self.limit)).await;
            if matches!(answer.body["code"].as_str(), Some("not_member" | "conversation_not_found")) {
                return false;
            }
            let page = answer.ok();
            shape::page(&page);
            kept.epoch = Some(shape::text(&page, "epoch").to_owned());
            if let Some(reset) = page.get("reset").filter(|reset| reset["reason"] != "expired") {
                println!("{id} after {}: {reset}", kept.last());
                self.resets += 1;
                kept.messages.clear();
                continue;
            }
            assert!(shape::id(&page, "position") >= kept.last(), "behind what was confirmed: {page}");
            let found = shape::list(&page, "messages");
            for message in found {
                let known = kept.messages.insert(shape::id(message, "msgId"), message.clone());
                assert!(known.is_none(), "given though it was confirmed: {message}");
                self.obey(id, kept, message).await;
            }
            if found.is_empty() {
                return true;
            }
        }
        panic!("{id}: something new {ROUNDS_MAX} times");
    }

    /// Does to what it has what a control message tells.
    async fn obey(&self, id: &str, kept: &mut Kept, message: &Value) {
        let Some(told) = message.get("ref") else { return };
        match shape::text(told, "action") {
            "recall" => kept.take_away(told, "recalled"),
            "delete" => kept.take_away(told, "deleted"),
            _ => {
                let request = json!({"conversationId": id, "msgIds": [told["msgId"]]});
                let answer = self.client.patient_post(GET, request).await;
                if answer.status == 200 {
                    shape::list(&answer.body, "messages").iter().for_each(|found| kept.replace(found));
                }
            }
        }
    }

    /// Expects the device to have exactly what its user may read, and to know how much is unread.
    pub async fn has_everything(&self) {
        let listed = list_all(&self.client, 100).await;
        let ids: BTreeSet<&str> = listed.iter().map(|one| shape::text(one, "conversationId")).collect();
        let kept: BTreeSet<&str> = self.kept.keys().map(String::as_str).collect();
        assert_eq!(kept, ids, "the device has other conversations than its user");
        for one in &listed {
            let id = shape::text(one, "conversationId");
            let kept = &self.kept[id];
            let wanted = self.all_of(id).await;
            let found: Vec<&Value> = kept.messages.values().collect();
            let same = found.iter().copied().eq(&wanted);
            assert!(same, "{id}: the device has {} messages, there are {}", found.len(), wanted.len());
            assert_eq!(kept.unread, shape::int(one, "unread"), "{id}: unread");
            assert_eq!(kept.read_msg_id, shape::id(one, "readMsgId"), "{id}: readMsgId");
        }
    }

    /// All messages of a conversation. `seq` has holes only where something was lost.
    async fn all_of(&self, id: &str) -> Vec<Value> {
        match self.resets {
            0 => pull_all(&self.client, id, Direction::Down, 100).await,
            _ => {
                let request = json!({"conversationId": id, "limit": 100, "direction": "down"});
                pull_where(&self.client, request).await
            }
        }
    }

    /// What it has of a conversation.
    pub fn kept(&self, id: &str) -> Option<&Kept> {
        self.kept.get(id)
    }
}

impl Kept {
    /// What comes after what it has, which it confirms.
    fn request(&self, id: &str, limit: usize) -> Value {
        let last = self.last().to_string();
        let mut request = json!({"conversationId": id, "lastMsgId": last, "limit": limit});
        if let Some(epoch) = &self.epoch {
            request["epoch"] = epoch.as_str().into();
        }
        request
    }

    /// Keeps nothing but the place of a message that it has.
    fn take_away(&mut self, told: &Value, status: &str) {
        if let Some(gone) = self.messages.get_mut(&shape::id(told, "msgId")) {
            gone["status"] = status.into();
            gone["content"] = "".into();
            let fields = gone.as_object_mut().expect("an object");
            fields.remove("ext");
            fields.remove("editTime");
        }
        for quote in self.quotes(&told["msgId"]) {
            quote["status"] = status.into();
            quote.as_object_mut().expect("an object").remove("preview");
        }
    }

    /// Takes a message that it has as it is now.
    fn replace(&mut self, message: &Value) {
        if message["status"] != "normal" {
            return self.take_away(message, shape::text(message, "status"));
        }
        if let Some(known) = self.messages.get_mut(&shape::id(message, "msgId")) {
            *known = message.clone();
        }
        let preview: String = shape::text(message, "content").chars().take(PREVIEW_CHARS).collect();
        for quote in self.quotes(&message["msgId"]) {
            quote["preview"] = preview.as_str().into();
        }
    }

    /// What quotes a message.
    fn quotes(&mut self, msg_id: &Value) -> impl Iterator<Item = &mut Value> {
        let quotes = self.messages.values_mut().filter_map(|message| message.get_mut("replyTo"));
        quotes.filter(move |quote| quote["msgId"] == *msg_id && quote["status"] != "expired")
    }

    /// The newest message's id; 0 without one.
    fn last(&self) -> u64 {
        self.messages.last_key_value().map_or(0, |(id, _)| *id)
    }
}
