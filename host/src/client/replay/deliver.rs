//! One batch on its way: the conversation made if need be, then its messages sent.

use im_domain::limits::MEMBERS_PER_CALL_MAX;
use serde::de::IgnoredAny;

use super::line::{Item, LineError};
use super::window::Job;
use crate::client::wire::{AddMembers, Batch, CREATE, Conversation, Create, MEMBERS, Outcome, Results, SEND};
use crate::client::{CallError, Client, chance};

/// The type of every conversation, one of two people too: their chat of the type `single` has an id
/// of its own.
const TYPE: &str = "group";

/// What has become of a batch.
#[derive(Debug, Default)]
pub struct Delivery {
    pub sent: u64,
    pub duplicates: u64,
    /// Messages that the server refuses for themselves; the others go on.
    pub refused: Vec<LineError>,
    /// The server cannot be sent to; nothing can go on.
    pub stopped: Option<LineError>,
}

/// Sends a batch, and again what was turned away for now.
pub async fn deliver(client: &Client, job: &Job) -> Delivery {
    let mut delivery = Delivery::default();
    let outcome = match &job.members {
        Some(members) => make(client, &job.conversation, members).await,
        None => Ok(()),
    };
    match outcome {
        Ok(()) => delivery.send_all(client, &job.items).await,
        Err(error) => delivery.stop(&job.items, error),
    }
    delivery
}

impl Delivery {
    async fn send_all(&mut self, client: &Client, items: &[Item]) {
        let mut rest = items;
        let mut retry = client.retry();
        while !rest.is_empty() {
            let outcomes = match send(client, rest).await {
                Ok(outcomes) if outcomes.len() == rest.len() => outcomes,
                Ok(outcomes) => {
                    return self.stop(rest, format!("{} answers to {} messages", outcomes.len(), rest.len()));
                }
                Err(error) => return self.stop(rest, error),
            };
            let Some(turned_away) = self.count(rest, outcomes) else { return };
            if turned_away.arrived > 0 {
                retry = client.retry();
            }
            rest = rest.get(turned_away.arrived..).unwrap_or_default();
            match retry.next(turned_away.refusal.retry_after(), chance()) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return self.stop(rest, turned_away.refusal),
            }
        }
    }

    /// Counts the outcomes up to the first message that was turned away for now, and says which
    /// that is. It goes again with all that follow, so that they keep their order; those of them
    /// that are stored already come back as duplicates.
    fn count(&mut self, items: &[Item], outcomes: Vec<Outcome>) -> Option<TurnedAway> {
        for (arrived, (item, outcome)) in items.iter().zip(outcomes).enumerate() {
            match outcome {
                Outcome::Receipt { duplicate: false } => self.sent += 1,
                Outcome::Receipt { duplicate: true } => self.duplicates += 1,
                Outcome::Refused { error } if error.may_pass() => {
                    return Some(TurnedAway { arrived, refusal: error });
                }
                Outcome::Refused { error } => self.refused.push(LineError::new(item.number, error)),
            }
        }
        None
    }

    /// Gives up at the first of `items`.
    fn stop(&mut self, items: &[Item], reason: impl std::fmt::Display) {
        let number = items.first().map_or(0, |item| item.number);
        self.stopped = Some(LineError::new(number, reason));
    }
}

/// A message that may be taken later.
struct TurnedAway {
    /// Messages before it.
    arrived: usize,
    refusal: crate::client::Refusal,
}

async fn send(client: &Client, items: &[Item]) -> Result<Vec<Outcome>, CallError> {
    let batch = Batch { messages: items.iter().map(|item| &*item.json).collect() };
    let answer: Results = client.post(SEND, &batch).await?;
    Ok(answer.results)
}

/// Makes a group of all its members; one that is there keeps those it has and gets those it lacks.
async fn make(client: &Client, conversation: &str, members: &[String]) -> Result<(), CallError> {
    let user_id = members.first().map_or("", String::as_str);
    let first = members.get(..MEMBERS_PER_CALL_MAX).unwrap_or(members);
    let create = Create { user_id, conversation_id: conversation, r#type: TYPE, members: first };
    let made: Conversation = client.post(CREATE, &create).await?;
    let is_new = made.head_seq == 0 && made.member_count == first.len() as u64;
    for add in members.chunks(MEMBERS_PER_CALL_MAX).skip(usize::from(is_new)) {
        let add = AddMembers { user_id, conversation_id: conversation, add };
        let _: IgnoredAny = client.post(MEMBERS, &add).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    fn items(count: u64) -> Vec<Item> {
        (1..=count).map(|number| Item { number, json: RawValue::NULL.to_owned() }).collect()
    }

    fn outcomes(json: &str) -> Vec<Outcome> {
        serde_json::from_str(json).unwrap()
    }

    const STORED: &str = r#"{"msgId":"1","seq":1,"duplicate":false,"ack":"accepted"}"#;
    const KNOWN: &str = r#"{"msgId":"1","seq":1,"duplicate":true,"ack":"accepted"}"#;
    const BAD: &str = r#"{"error":{"status":409,"code":"conflict","detail":"no","field":"clientMsgId"}}"#;
    const LATER: &str = r#"{"error":{"status":503,"code":"overloaded","detail":"","retryAfterMs":5}}"#;

    #[test]
    fn each_message_is_counted_for_itself() {
        let mut delivery = Delivery::default();
        let answer = outcomes(&format!("[{STORED},{BAD},{KNOWN},{STORED}]"));
        assert!(delivery.count(&items(4), answer).is_none());
        assert_eq!((delivery.sent, delivery.duplicates), (2, 1));
        assert_eq!(delivery.refused, [LineError::new(2, "conflict (409): no")]);
    }

    #[test]
    fn from_the_first_one_turned_away_on_they_go_again() {
        let mut delivery = Delivery::default();
        let answer = outcomes(&format!("[{STORED},{LATER},{STORED}]"));
        let turned_away = delivery.count(&items(3), answer).unwrap();
        assert_eq!((turned_away.arrived, delivery.sent), (1, 1));
    }
}
