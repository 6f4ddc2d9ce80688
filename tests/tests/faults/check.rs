//! Compares the history with every receipt: each message once, in order, byte for byte, at its ack
//! level, read from the hot store, then from SQL alone, and by every follower.

use super::ledger::{Acked, nothing_is_given_twice, what_comes_later_stands_above};
use super::load::{Done, OWNER};
use super::stage::Stage;
use super::upkeep::drained;
use im_tests::client::Client;
use im_tests::routes::SYNC;
use im_tests::shape;
use im_tests::walk::pull_where;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Between these moments a fault may have taken messages that were acknowledged as `accepted`.
///
/// It may have taken the memory of a message too that was stored and not acknowledged yet. Sent again
/// after it, that one is taken for new, until SQL finds the first: the first stays.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    pub from: Instant,
    pub to: Instant,
}

/// What a fault has done to the messages of a room.
#[derive(Default)]
struct Toll<'a> {
    missing: Vec<&'a Acked>,
    /// There under an earlier id.
    doubled: Vec<&'a Acked>,
}

/// Everything there is to check at the end of a load. It leaves the hot store empty.
pub async fn exact(stage: &Stage, done: &Done, loss: Option<Loss>) {
    nothing_is_given_twice(&done.acked);
    what_comes_later_stands_above(&done.acked);
    drained(stage).await;
    let owner = stage.tenant(0).user(OWNER).fresh();
    let (mut missing, mut doubled) = (0, 0);
    for room in done.rooms.iter() {
        let acked: Vec<&Acked> = done.acked.iter().filter(|one| one.room == *room).collect();
        let found = history(&owner, room).await;
        let toll = each_is_there(&acked, &found, loss);
        followers_have(done, room, &found, &toll);
        in_one_run(&acked, &found, &toll);
        if let Some(last) = toll.missing.iter().max_by_key(|one| one.id) {
            told(&owner, last).await;
        }
        missing += toll.missing.len();
        doubled += toll.doubled.len();
    }
    println!("{} messages, allowed: {missing} lost, {doubled} found again", done.acked.len());
    from_sql_alone(stage, done, &owner).await;
}

/// The same again when the hot store has nothing.
async fn from_sql_alone(stage: &Stage, done: &Done, owner: &Client) {
    let mut before = Vec::new();
    for room in done.rooms.iter() {
        before.push(history(owner, room).await);
    }
    stage.redis.flush_all();
    for (room, before) in done.rooms.iter().zip(before) {
        assert!(history(owner, room).await == before, "{room}: SQL has something else than was read before");
    }
}

/// A room as it is read in both directions.
pub async fn history(reader: &Client, room: &str) -> Vec<Value> {
    let request = |way: &str| json!({"conversationId": room, "limit": 100, "direction": way});
    let down = pull_where(reader, request("down")).await;
    let mut up = pull_where(reader, request("up")).await;
    up.reverse();
    assert!(down == up, "{room}: {} messages downwards, {} upwards", down.len(), up.len());
    let seq = |message: &Value| shape::int(message, "seq");
    assert!(down.windows(2).all(|pair| seq(&pair[0]) < seq(&pair[1])), "{room}: seq rises");
    down
}

fn followers_have(done: &Done, room: &str, found: &[Value], toll: &Toll<'_>) {
    let doubled: BTreeSet<u64> = toll.doubled.iter().map(|one| one.id).collect();
    for seen in done.seen.iter().filter(|seen| seen.room == room) {
        let stays = |message: &&Value| !doubled.contains(&shape::id(message, "msgId"));
        let has: Vec<&Value> = seen.messages.iter().filter(stays).collect();
        let (count, wanted) = (has.len(), found.len());
        let same = has.into_iter().eq(found);
        assert!(same, "{room}: a device has {count} of {wanted}, {} resets", seen.resets);
    }
}

fn each_is_there<'a>(acked: &[&'a Acked], found: &[Value], loss: Option<Loss>) -> Toll<'a> {
    let mut left: BTreeMap<(&str, &str), &Value> = BTreeMap::new();
    for message in found {
        let key = (shape::text(message, "senderId"), shape::text(message, "clientMsgId"));
        assert!(left.insert(key, message).is_none(), "twice: {message}");
    }
    let mut toll = Toll::default();
    for one in acked {
        match left.remove(&(one.sender.as_str(), one.client_msg_id.as_str())) {
            Some(message) if is_an_earlier_one(one, message, loss) => toll.doubled.push(one),
            Some(message) => same(one, message),
            None => {
                // The answer of a message that was stored just before the loss can come just after it.
                let within = |loss: Loss| !one.persisted && loss.from <= one.at && one.began <= loss.to;
                assert!(loss.is_some_and(within), "lost: {one:#?}, allowed: {loss:?}");
                toll.missing.push(one);
            }
        }
    }
    assert!(left.is_empty(), "never sent: {left:?}");
    toll
}

/// Whether a message is there as it was stored before a fault, and was taken for new after it.
fn is_an_earlier_one(acked: &Acked, message: &Value, loss: Option<Loss>) -> bool {
    let begun_before = loss.is_some_and(|loss| acked.began <= loss.to);
    begun_before && shape::id(message, "msgId") < acked.id && message["content"] == acked.content.as_str()
}

#[track_caller]
fn same(acked: &Acked, message: &Value) {
    let wanted = json!({
        "msgId": acked.id.to_string(), "seq": acked.seq, "createTime": acked.create_time,
        "content": acked.content, "type": "text", "status": "normal",
    });
    for (field, value) in wanted.as_object().expect("an object") {
        assert_eq!(&message[field], value, "{field} of {acked:#?}");
    }
}

/// Expects a device that has the lost message to be told.
async fn told(owner: &Client, lost: &Acked) {
    let page = owner.patient(
        SYNC,
        json!({"conversationId": lost.room, "lastMsgId": lost.id.to_string(), "epoch": lost.epoch}),
    );
    let page = page.await;
    assert_ne!(page["epoch"], lost.epoch.as_str(), "the loss has begun no epoch: {lost:#?}");
    assert!(page.get("reset").is_some(), "a device that has the lost message is not told: {page}");
}

/// Expects no hole in `seq` between two messages of one epoch, but for those that were taken back. An
/// epoch is known from a receipt that is the first one.
fn in_one_run(acked: &[&Acked], found: &[Value], toll: &Toll<'_>) {
    let epochs: BTreeMap<u64, &str> =
        acked.iter().filter(|one| !one.duplicate).map(|one| (one.id, one.epoch.as_str())).collect();
    for pair in found.windows(2) {
        let epoch = |message: &Value| epochs.get(&shape::id(message, "msgId"));
        let (low, high) = (shape::int(&pair[0], "seq"), shape::int(&pair[1], "seq"));
        let back = toll.doubled.iter().filter(|one| low < one.seq && one.seq < high).count() as u64;
        let one_run = epoch(&pair[0]).is_some() && epoch(&pair[0]) == epoch(&pair[1]);
        assert!(!one_run || high - low == 1 + back, "a hole within an epoch: {pair:#?}");
    }
}
