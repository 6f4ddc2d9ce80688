//! What a device does to know everything there is: calls, each of which goes on from where the one before
//! has ended.

use super::scene::{CONVERSATIONS, Device, MISSED, MISSED_IN, Scene};
use crate::failure::{Outcome, fail};
use crate::load::{Http, Link, body, post};
use serde_json::{Value, json};
use std::time::Instant;

const GLOBAL_LIMIT: usize = 100;
const DIGEST_LIMIT: usize = 50;
const CATCH_UP_LIMIT: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// What has changed, where so many conversations have.
    Global(usize),
    /// The first page of a digest.
    Digest,
    /// Every message that was missed, page by page, each confirmed by the call after it.
    CatchUp,
}

impl Walk {
    pub fn name(self) -> String {
        match self {
            Self::Global(changed) => format!("sync/global, {changed} of {CONVERSATIONS} changed"),
            Self::Digest => format!("sync/digest, first {DIGEST_LIMIT} of {CONVERSATIONS}"),
            Self::CatchUp => format!("msg/sync, {MISSED} missed in pages of {CATCH_UP_LIMIT}"),
        }
    }

    pub fn path(self) -> &'static str {
        match self {
            Self::Global(_) => "/api/sync/global",
            Self::Digest => "/api/sync/digest",
            Self::CatchUp => "/api/msg/sync",
        }
    }

    fn device(self) -> Outcome<Device> {
        match self {
            Self::Global(_) | Self::Digest => Ok(Device::traveller()),
            Self::CatchUp => Device::absent(),
        }
    }

    pub fn request(self, device: &Device, from: Option<&str>) -> Value {
        let (user, device) = (&device.user, &device.name);
        match self {
            Self::Global(_) => {
                json!({ "userId": user, "deviceId": device, "cursor": from, "limit": GLOBAL_LIMIT })
            }
            Self::Digest => json!({ "userId": user, "deviceId": device, "limit": DIGEST_LIMIT, "latest": 1 }),
            Self::CatchUp => json!({
                "userId": user,
                "deviceId": device,
                "conversationId": MISSED_IN,
                "lastMsgId": from,
                "limit": CATCH_UP_LIMIT,
            }),
        }
    }

    /// Where the next call goes on; none: that was all.
    pub fn next(self, answer: &Value) -> Option<String> {
        let goes_on = match self {
            Self::Global(_) => answer.get("hasMore").and_then(Value::as_bool) == Some(true),
            Self::Digest => false,
            // The last page has to be confirmed, too.
            Self::CatchUp => self.found(answer) > 0,
        };
        answer.get("cursor").and_then(Value::as_str).filter(|_| goes_on).map(str::to_owned)
    }

    /// What an answer brings.
    fn found(self, answer: &Value) -> usize {
        let name = match self {
            Self::Global(_) => "changed",
            Self::Digest => "conversations",
            Self::CatchUp => "messages",
        };
        answer.get(name).and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// For how many lengths of a loop it is repeated: a long walk is made seldom.
    pub fn windows(self) -> u32 {
        match self {
            Self::Global(_) | Self::Digest => 1,
            Self::CatchUp => 4,
        }
    }

    /// What the calls bring together.
    pub fn brings(self) -> usize {
        match self {
            Self::Global(changed) => changed,
            Self::Digest => DIGEST_LIMIT,
            Self::CatchUp => MISSED,
        }
    }
}

/// A walk whose calls are known, so that playing it again costs the load little.
pub struct Recording<'a> {
    walk: Walk,
    /// The service's.
    token: &'a str,
    calls: Vec<Call>,
}

struct Call {
    from: Option<String>,
    /// Bytes of the answer.
    length: usize,
}

impl<'a> Recording<'a> {
    /// Walks by what the answers say.
    pub async fn make(walk: Walk, scene: &Scene, token: &'a str, link: &mut Link<Http>) -> Outcome<Self> {
        let device = walk.device()?;
        let mut recording = Self { walk, token, calls: Vec::new() };
        let (mut from, mut found) = (scene.start(walk).map(str::to_owned), 0);
        loop {
            let request = recording.request(&device, from.as_deref());
            let bytes = body(link.exchange(&request).await?);
            let answer: Value = serde_json::from_slice(bytes)?;
            recording.calls.push(Call { from, length: bytes.len() });
            found += walk.found(&answer);
            from = walk.next(&answer);
            if from.is_none() {
                break;
            }
        }
        match found == walk.brings() {
            true => Ok(recording),
            false => fail(format!("{found} were found, not {}", walk.brings())),
        }
    }

    /// Makes the same calls; every answer has to be as long as the recorded one. `answered` is told of each
    /// when it was begun.
    pub async fn play(&self, link: &mut Link<Http>, mut answered: impl FnMut(Instant)) -> Outcome {
        let device = self.walk.device()?;
        for call in &self.calls {
            let request = self.request(&device, call.from.as_deref());
            let begun = Instant::now();
            let answer = link.exchange(&request).await?;
            answered(begun);
            if body(answer).len() != call.length {
                return fail(format!("not the answer expected: {}", String::from_utf8_lossy(answer)));
            }
        }
        Ok(())
    }

    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    fn request(&self, device: &Device, from: Option<&str>) -> Vec<u8> {
        post(self.walk.path(), self.token, &self.walk.request(device, from).to_string())
    }
}
