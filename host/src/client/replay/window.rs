//! The messages between file and server: sorted into lanes, one for each conversation, and taken
//! out in batches.
//!
//! A lane is in work at most once at a time, so the messages of a conversation keep their order. A
//! batch goes out when it is full or when nothing more can join it; before that only when the
//! window itself is full, the longest waiting first.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use im_domain::limits::BATCH_MESSAGES_MAX;

use super::census::Roll;
use super::line::Item;
use crate::client::limits::{BATCH_BYTES_MAX, WINDOW_BYTES_MAX};

/// Work for one task: messages of one conversation, in order.
#[derive(Debug)]
pub struct Job {
    pub conversation: Arc<str>,
    /// The members, if this is the conversation's first batch: it has to be made.
    pub members: Option<Vec<String>>,
    pub items: Vec<Item>,
}

pub struct Window {
    lanes: HashMap<Arc<str>, Lane>,
    /// Lanes with a batch that can go out.
    ready: VecDeque<Arc<str>>,
    /// Lanes whose batch may grow, by the number of the line that waits longest.
    growing: BTreeMap<u64, Arc<str>>,
    waiting_bytes: usize,
    bytes_max: usize,
    closed: bool,
}

struct Lane {
    members: Option<Vec<String>>,
    queue: VecDeque<Item>,
    /// Lines still to be read.
    missing: u64,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing waits.
    Empty,
    Growing,
    Ready,
    /// A batch is on its way.
    InWork,
}

impl Window {
    pub fn new(rolls: HashMap<String, Roll>) -> Self {
        let lane = |roll: Roll| Lane {
            missing: roll.lines,
            members: Some(roll.into_members()),
            queue: VecDeque::new(),
            place: Place::Empty,
        };
        Self {
            lanes: rolls.into_iter().map(|(name, roll)| (name.into(), lane(roll))).collect(),
            ready: VecDeque::new(),
            growing: BTreeMap::new(),
            waiting_bytes: 0,
            bytes_max: WINDOW_BYTES_MAX,
            closed: false,
        }
    }

    /// Whether no more is to be put in for now.
    pub fn is_full(&self) -> bool {
        self.waiting_bytes >= self.bytes_max
    }

    /// Puts in the next message; false: the first reading met no such conversation.
    #[must_use]
    pub fn put(&mut self, conversation: &str, item: Item) -> bool {
        let Some(name) = self.lanes.get_key_value(conversation).map(|(name, _)| Arc::clone(name)) else {
            return false;
        };
        self.waiting_bytes += item.json.get().len();
        if let Some(lane) = self.lanes.get_mut(&name) {
            lane.missing = lane.missing.saturating_sub(1);
            lane.queue.push_back(item);
        }
        self.place(&name);
        true
    }

    /// Says that nothing more will be put in.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// The next batch, if one may go out now.
    pub fn take(&mut self) -> Option<Job> {
        let name = match self.ready.pop_front() {
            Some(name) => name,
            None if self.closed || self.is_full() => self.growing.pop_first()?.1,
            None => return None,
        };
        let lane = self.lanes.get_mut(&name)?;
        lane.place = Place::InWork;
        let items = lane.batch();
        self.waiting_bytes -= items.iter().map(|item| item.json.get().len()).sum::<usize>();
        Some(Job { members: lane.members.take(), conversation: name, items })
    }

    /// Says that the batch of a conversation has arrived.
    pub fn done(&mut self, conversation: &Arc<str>) {
        let Some(lane) = self.lanes.get_mut(conversation) else { return };
        lane.place = Place::Empty;
        if lane.queue.is_empty() && lane.missing == 0 {
            self.lanes.remove(conversation);
        } else {
            self.place(conversation);
        }
    }

    /// Finds a lane its place, unless it is in work: then it gets one when it is done.
    fn place(&mut self, name: &Arc<str>) {
        let Some(lane) = self.lanes.get_mut(name) else { return };
        let Some(oldest) = lane.queue.front().map(|item| item.number) else { return };
        if matches!(lane.place, Place::InWork | Place::Ready) {
            return;
        }
        if lane.has_batch() {
            lane.place = Place::Ready;
            self.growing.remove(&oldest);
            self.ready.push_back(Arc::clone(name));
        } else if lane.place == Place::Empty {
            lane.place = Place::Growing;
            self.growing.insert(oldest, Arc::clone(name));
        }
    }
}

impl Lane {
    /// Whether waiting would not make the next batch larger.
    fn has_batch(&self) -> bool {
        self.queue.len() >= BATCH_MESSAGES_MAX || self.missing == 0
    }

    /// At least one message, then as many as fit.
    fn batch(&mut self) -> Vec<Item> {
        let mut bytes = 0;
        let fits = |item: &&Item| {
            bytes += item.json.get().len();
            bytes <= BATCH_BYTES_MAX
        };
        let count = self.queue.iter().take(BATCH_MESSAGES_MAX).take_while(fits).count();
        self.queue.drain(..count.max(1).min(self.queue.len())).collect()
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
