//! Messages are recalled, edited and deleted.
//!
//! One script makes the control message, says beside the hot stream what the message has become, and logs the
//! revision. A message that is not hot is revised by SQL: the call is answered once SQL has done so. One that
//! is hot is so at once; SQL is waited for all the same, if it is there, so that no loss of Redis brings the
//! former text back.

use super::keys::Place;
use super::record::Record;
use super::retention::times;
use super::tell::{Tale, tell};
use super::{Tiered, limits, persist, read, script, stamp, unknown_word};
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply};
use crate::sql::Row;
use crate::{arguments, params};
use im_domain::limits::EDITS_MAX;
use im_domain::message::{Action, Kind, summary_of};
use im_domain::revision::{Refusal, Revised, Revision, Told};
use im_domain::storage::Actor;
use im_domain::{Error, MsgId, Result};

pub(super) async fn revise<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    revision: &Revision,
) -> Result<Revised> {
    revision.check()?;
    let place = Place::of(&actor.tenant, &revision.conversation);
    let keys = place.written();
    let mut facts = unknown();
    for _ in 0..limits::ATTEMPTS_MAX {
        let mut arguments = describe(store, actor, revision, &place);
        arguments.extend(facts.iter().cloned());
        let (word, mut reply) = read::ask_hot(store, &place, &script::REVISE, &keys, &arguments).await?;
        match word.as_str() {
            "ok" => return finish(store, &place, revision, &mut reply).await,
            "far" => {
                let (cid, last_revision) = (read::id(&mut reply)?, reply.text()?);
                facts = vec![Argument::from(last_revision)];
                facts.extend(look_up(store, &place, cid, revision).await?);
            }
            word => return Err(refusal(word, revision.change.action())),
        }
    }
    Err(Error::internal("a message that was to be revised was looked up again and again"))
}

fn describe<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    revision: &Revision,
    place: &Place,
) -> Vec<Argument> {
    let action = revision.change.action();
    let from = store.settings.revision.from(&actor.tenant, action, store.now_ms());
    let content = revision.change.content();
    arguments![
        u64::from(place.partition),
        store.settings.backlog_max,
        place.name.as_str(),
        actor.user.as_str(),
        actor.privileged,
        stamp::text(revision.msg_id),
        stamp::text(from),
        times(store, &actor.tenant),
        limits::EPOCH_SEQ_GAP,
        Record::control(&actor.user, revision.control(), &store.random_name()).encode(),
        revision.reason.as_deref().unwrap_or_default(),
        store.settings.index_members_max,
        store.here(place.partition),
        limits::INDEX_LIFE_S,
        action.number().unsigned_abs(),
        content,
        summary_of(content),
        EDITS_MAX as u64
    ]
}

async fn finish<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    revision: &Revision,
    reply: &mut Reply,
) -> Result<Revised> {
    let (control, seq) = (stamp::parse(&reply.text()?), reply.number()?);
    let told = control.map(|msg_id| Told { msg_id, seq });
    let revised = Revised { msg_id: revision.msg_id, told };
    let is_hot = reply.number()? == 1;
    tell(store, place, &Tale::take(reply)?).await?;
    match persist::reach_now(store, place.partition).await {
        Err(Error::SqlUnavailable { .. } | Error::Overloaded { .. }) if is_hot => Ok(revised),
        reached => reached.map(|()| revised),
    }
}

/// What the script is told of a message before SQL was asked.
fn unknown() -> Vec<Argument> {
    arguments!["", "", "", "", "", "", "", "", ""]
}

/// What the script has to know of a message that is not hot.
async fn look_up<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
    cid: MsgId,
    revision: &Revision,
) -> Result<Vec<Argument>> {
    // A message counts if it raises the number of those that do.
    const STATEMENT: &str = "
        SELECT m.sender, m.kind, CASE WHEN m.countable > coalesce((SELECT countable FROM message
                WHERE cid = m.cid AND msg_id < m.msg_id ORDER BY msg_id DESC LIMIT 1), m.countable - 1)
            THEN m.countable ELSE 0 END, (m.content = $3::bytea)::int, v.action::bigint, x.msg_id, x.seq,
            (SELECT count(*) FROM revision WHERE cid = m.cid AND msg_id = m.msg_id AND action = $4::bigint)
        FROM message m LEFT JOIN LATERAL (
            SELECT action, control_msg_id FROM revision WHERE cid = m.cid AND msg_id = m.msg_id
            ORDER BY action <> $4::bigint DESC, control_msg_id DESC LIMIT 1) v ON true
        LEFT JOIN message x ON x.cid = m.cid AND x.msg_id = v.control_msg_id
        WHERE m.cid = $1::bigint AND m.msg_id = $2::bigint AND coalesce(m.copy_of, 0) = 0";
    let edit = Action::Edit.number().unsigned_abs();
    let parameters = params![cid, revision.msg_id, revision.change.content().as_bytes(), edit];
    let mut rows = store.sql(place.partition).await?.query(STATEMENT, parameters).await?;
    facts(rows.first_mut().ok_or_else(missing)?)
}

fn facts(row: &mut Row) -> Result<Vec<Argument>> {
    let (sender, kind, countable) = (row.text()?, row.case(Kind::from_number)?, row.count()?);
    let has_content = row.flag()?;
    let action = row.opt_int()?.unwrap_or_default().unsigned_abs();
    let control = row.opt_msg_id()?.map(stamp::text).unwrap_or_default();
    let seq = row.opt_int()?.unwrap_or_default().unsigned_abs();
    let edits = row.count()?;
    let kind = kind.number().unsigned_abs();
    Ok(arguments![sender, kind, countable, has_content, action, control, seq, edits])
}

fn missing() -> Error {
    Error::MessageNotFound { field: "msgId".into() }
}

fn refusal(word: &str, action: Action) -> Error {
    match word {
        "missing" => missing(),
        "control" => Refusal::Control.into(),
        "final" => Refusal::Final.into(),
        "other" => Refusal::Others(action).into(),
        "late" => Refusal::Late(action).into(),
        "edits" => Refusal::Edits.into(),
        word => unknown_word("revise", word),
    }
}
