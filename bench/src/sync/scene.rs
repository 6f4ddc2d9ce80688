//! Who syncs: a user of many conversations, and devices that have missed everything in one.

use super::walk::Walk;
use crate::failure::{Outcome, fail};
use crate::scene::{create, say};
use crate::subject::{Subject, Tokens};
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Conversations of the user who asks what has changed.
pub const CONVERSATIONS: usize = 2_000;
/// How many of them have changed since each cursor. The largest takes two calls.
pub const CHANGED: [usize; 3] = [0, 3, 200];
/// Messages that devices have missed.
pub const MISSED: usize = 5_000;
pub const MISSED_IN: &str = "missed";
const TRAVELLER: &str = "traveller";
/// Members of the conversation with missed messages, and devices of each, fewer than a user may have: a device
/// catches up but once.
const ABSENT: usize = 100;
const ABSENT_DEVICES: usize = 50;

static NEXT_DEVICE: AtomicUsize = AtomicUsize::new(0);

/// Who asks; a service does it for them.
pub struct Device {
    pub user: String,
    pub name: String,
}

impl Device {
    pub fn traveller() -> Self {
        Self { user: TRAVELLER.to_owned(), name: "phone".to_owned() }
    }

    /// One that has not been there since before the first message.
    pub fn absent() -> Outcome<Self> {
        let number = NEXT_DEVICE.fetch_add(1, Ordering::Relaxed);
        if number >= ABSENT * ABSENT_DEVICES {
            return fail("every device has caught up");
        }
        Ok(Self { user: absent(number % ABSENT), name: format!("d{:02}", number / ABSENT) })
    }
}

fn absent(index: usize) -> String {
    format!("absent-{index:02}")
}

fn visited(index: usize) -> String {
    format!("v{index:04}")
}

/// The cursors of devices that asked at different times.
pub struct Scene {
    /// So many conversations have changed since each.
    cursors: Vec<(usize, String)>,
}

impl Scene {
    /// Makes the conversations, and takes cursors between the messages in them.
    pub async fn prepare(subject: &Subject, tokens: &Tokens) -> Outcome<Self> {
        make_missed(subject, tokens).await?;
        let all: Vec<String> = (0..CONVERSATIONS).map(visited).collect();
        for name in &all {
            create(subject, tokens, name, &[TRAVELLER.to_owned()]).await?;
        }
        say(subject, tokens, &all).await?;
        let mut changed = CHANGED;
        changed.sort_unstable_by(|a, b| b.cmp(a));
        let later = changed.into_iter().skip(1).chain([0]);
        let mut cursors = Vec::new();
        for (count, fewer) in changed.into_iter().zip(later) {
            cursors.push((count, present(subject, tokens).await?));
            // In each of them once: those that are left have changed since the next cursor.
            say(subject, tokens, all.get(fewer..count).unwrap_or_default()).await?;
        }
        subject.drain(tokens).await?;
        Ok(Self { cursors })
    }

    /// Where a walk begins; none: nothing is known.
    pub fn start(&self, walk: Walk) -> Option<&str> {
        let Walk::Global(changed) = walk else { return None };
        self.cursors.iter().find(|(count, _)| *count == changed).map(|(_, cursor)| cursor.as_str())
    }
}

async fn make_missed(subject: &Subject, tokens: &Tokens) -> Outcome {
    create(subject, tokens, MISSED_IN, &(0..ABSENT).map(absent).collect::<Vec<_>>()).await?;
    say(subject, tokens, &vec![MISSED_IN.to_owned(); MISSED]).await?;
    subject.drain(tokens).await.map(drop)
}

/// The cursor of a device that knows everything there is.
async fn present(subject: &Subject, tokens: &Tokens) -> Outcome<String> {
    let walk = Walk::Global(0);
    let mut cursor = String::new();
    loop {
        let request = walk.request(&Device::traveller(), Some(&cursor));
        let answer = subject.post(walk.path(), &tokens.service, &request).await?;
        answer.get("cursor").and_then(Value::as_str).unwrap_or_default().clone_into(&mut cursor);
        if walk.next(&answer).is_none() {
            return Ok(cursor);
        }
    }
}
