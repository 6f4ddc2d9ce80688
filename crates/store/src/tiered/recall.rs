//! Messages are taken back.
//!
//! One script makes the control message, hides what was said in the hot stream, and logs the revision. A message
//! that is not hot is hidden by SQL: the call is answered once SQL has done so. One that is hot is hidden at
//! once; SQL is waited for all the same, if it is there, so that no loss of Redis brings the text back.

use super::keys::Place;
use super::record::Record;
use super::tell::{Tale, tell};
use super::{Tiered, limits, persist, read, script, stamp, unknown_word};
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply};
use crate::{arguments, params};
use im_domain::message::{Action, ControlRef, Kind};
use im_domain::revision::{Recall, Revised};
use im_domain::storage::Actor;
use im_domain::{Error, MsgId, Result};

pub(super) async fn recall<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    recall: &Recall,
) -> Result<Revised> {
    recall.check()?;
    let place = Place::of(&actor.tenant, &recall.conversation);
    let keys = place.written();
    let mut facts = arguments!["", "", ""];
    for _ in 0..limits::ATTEMPTS_MAX {
        let mut arguments = describe(store, actor, recall, &place);
        arguments.extend(facts.iter().cloned());
        let (word, mut reply) = read::ask_hot(store, &place, &script::RECALL, &keys, &arguments).await?;
        match word.as_str() {
            "ok" => return finish(store, &place, recall, &mut reply).await,
            "far" => match look_up(store, &place, read::id(&mut reply)?, recall.msg_id).await? {
                Cold::Said(found) => facts = found,
                Cold::Recalled(revised) => return Ok(revised),
                Cold::Missing => return Err(missing()),
            },
            word => return Err(refusal(word)),
        }
    }
    Err(Error::internal("a message that was to be taken back was looked up again and again"))
}

fn describe<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    recall: &Recall,
    place: &Place,
) -> Vec<Argument> {
    let window_ms = store.settings.recall_ms.of(&actor.tenant);
    let control = ControlRef { msg_id: recall.msg_id, action: Action::Recall };
    arguments![
        u64::from(place.partition),
        store.settings.backlog_max,
        place.name.as_str(),
        actor.user.as_str(),
        actor.privileged,
        stamp::text(recall.msg_id),
        stamp::text(MsgId::floor_of(store.now_ms().saturating_sub(window_ms))),
        stamp::text(store.expired_up_to()),
        limits::EPOCH_SEQ_GAP,
        Record::control(&actor.user, control).encode(),
        recall.reason.as_deref().unwrap_or_default(),
        store.settings.index_members_max,
        store.here(place.partition),
        limits::INDEX_LIFE_S
    ]
}

async fn finish<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    recall: &Recall,
    reply: &mut Reply,
) -> Result<Revised> {
    let revised = revised(recall, reply)?;
    let is_hot = reply.number()? == 1;
    tell(store, place, &Tale::take(reply)?).await?;
    match persist::reach_now(store, place.partition).await {
        Err(Error::SqlUnavailable { .. } | Error::Overloaded { .. }) if is_hot => Ok(revised),
        reached => reached.map(|()| revised),
    }
}

fn revised(recall: &Recall, reply: &mut Reply) -> Result<Revised> {
    Ok(Revised { msg_id: recall.msg_id, control_msg_id: read::id(reply)?, seq: reply.number()? })
}

/// What SQL knows of a message.
enum Cold {
    /// What the script has to know of it.
    Said(Vec<Argument>),
    Recalled(Revised),
    Missing,
}

async fn look_up<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    cid: MsgId,
    msg_id: MsgId,
) -> Result<Cold> {
    // A message counts if it raises the number of those that do.
    const STATEMENT: &str = "
        SELECT m.sender, m.kind, CASE WHEN m.countable > coalesce((SELECT countable FROM message
                WHERE cid = m.cid AND msg_id < m.msg_id ORDER BY msg_id DESC LIMIT 1), m.countable - 1)
            THEN m.countable ELSE 0 END, x.msg_id, x.seq
        FROM message m LEFT JOIN revision v ON v.cid = m.cid AND v.msg_id = m.msg_id AND v.action = $3::bigint
        LEFT JOIN message x ON x.cid = v.cid AND x.msg_id = v.control_msg_id
        WHERE m.cid = $1::bigint AND m.msg_id = $2::bigint AND coalesce(m.copy_of, 0) = 0";
    let parameters = params![cid, msg_id, Action::Recall.number().unsigned_abs()];
    let mut rows = store.sql(place.partition).await?.query(STATEMENT, parameters).await?;
    let Some(row) = rows.first_mut() else { return Ok(Cold::Missing) };
    let (sender, kind, countable) = (row.text()?, row.case(Kind::from_number)?, row.count()?);
    if let Some((control_msg_id, seq)) = row.opt_msg_id()?.zip(row.opt_int()?) {
        return Ok(Cold::Recalled(Revised { msg_id, control_msg_id, seq: seq.unsigned_abs() }));
    }
    Ok(Cold::Said(arguments![sender, kind.number().unsigned_abs(), countable]))
}

fn missing() -> Error {
    Error::MessageNotFound { field: "msgId".into() }
}

fn refusal(word: &str) -> Error {
    match word {
        "missing" => missing(),
        "control" => Error::invalid("msgId", "a control message cannot be taken back"),
        "other" => Error::forbidden("only an owner or an administrator takes back what others said"),
        "late" => Error::forbidden("the time in which it could be taken back has passed"),
        word => unknown_word("recall", word),
    }
}
