//! Messages are recalled, edited and deleted.
//!
//! One script makes the control message, says beside the hot stream what the message has become, and logs the
//! revision. A message that is not hot is revised by SQL: the call is answered once SQL has done so. One that
//! is hot is so at once; SQL is waited for all the same, if it is there, so that no loss of Redis brings the
//! former text back.

use super::cold::Cold;
use super::keys::Place;
use super::record::Record;
use super::retention::times;
use super::rows::SHOWN;
use super::tell::{Tale, tell};
use super::view::countable_up_to;
use super::{Tiered, limits, persist, read, script, stamp, unknown_word};
use crate::cold::{before, is_shown};
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Reply};
use crate::sql::{Row, SqlError};
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
    let statement = format!(
        "SELECT c.cold_msg_id, v.action::bigint, v.control_msg_id, x.seq, (SELECT count(*) FROM revision
                WHERE cid = c.cid AND msg_id = $2::bigint AND action = $4::bigint),
            m.sender, m.kind, m.countable, {}, (m.content = $3::bytea)::int
        FROM conversation c
        LEFT JOIN message m ON m.cid = c.cid AND m.msg_id = $2::bigint AND {SHOWN}
        LEFT JOIN LATERAL (
            SELECT action, control_msg_id FROM revision WHERE cid = c.cid AND msg_id = $2::bigint
            ORDER BY action <> $4::bigint DESC, control_msg_id DESC LIMIT 1) v ON true
        LEFT JOIN message x ON x.cid = c.cid AND x.msg_id = v.control_msg_id
        WHERE c.cid = $1::bigint",
        countable_up_to("c.cid", "($2::bigint - 1)"),
        SHOWN = SHOWN.replace("copy_of", "m.copy_of"),
    );
    let edit = Action::Edit.number().unsigned_abs();
    let content = revision.change.content();
    let parameters = params![cid, revision.msg_id, content.as_bytes(), edit];
    let cold = Cold { db: store.sql(place.partition).await?, cid };
    let mut rows = cold.db.query(&statement, parameters).await?;
    let row = rows.first_mut().ok_or_else(missing)?;
    let end = row.msg_id()?;
    let mut traced = Traced::read(row)?;
    if let Some(control) = traced.control.filter(|control| traced.seq == 0 && *control <= end) {
        traced.seq = cold.find(&[control]).await?.remove(&control).map_or(0, |record| record.seq);
    }
    match revision.msg_id <= end {
        true => Ok(traced.with(&Said::find(&cold, revision).await?)),
        false => Ok(traced.with(&Said::read(row)?)),
    }
}

/// What was done to a message so far: the last revision, the `seq` of its control message (0: not known), and how
/// many edits.
struct Traced {
    action: u64,
    control: Option<MsgId>,
    seq: u64,
    edits: u64,
}

impl Traced {
    fn read(row: &mut Row) -> Result<Self, SqlError> {
        Ok(Self {
            action: row.opt_int()?.unwrap_or_default().unsigned_abs(),
            control: row.opt_msg_id()?,
            seq: row.opt_int()?.unwrap_or_default().unsigned_abs(),
            edits: row.count()?,
        })
    }

    fn with(&self, said: &Said) -> Vec<Argument> {
        let control = self.control.map(stamp::text).unwrap_or_default();
        arguments![
            said.sender.as_str(),
            said.kind,
            said.countable,
            said.has_content,
            self.action,
            control,
            self.seq,
            self.edits
        ]
    }
}

/// What a message is.
struct Said {
    sender: String,
    kind: u64,
    /// Its place among those that count; 0: it does not. One counts if it raises the number of those that do.
    countable: u64,
    /// It has the content that an edit would give it.
    has_content: bool,
}

impl Said {
    fn read(row: &mut Row) -> Result<Self> {
        let sender = row.opt_text()?.ok_or_else(missing)?;
        let kind = row.case(Kind::from_number)?.number().unsigned_abs();
        let (countable, before) = (row.count()?, row.count()?);
        let countable = if countable > before { countable } else { 0 };
        Ok(Self { sender, kind, countable, has_content: row.flag()? })
    }

    async fn find<P: Postgres>(cold: &Cold<'_, P>, revision: &Revision) -> Result<Self> {
        let mut found = cold.find(&[revision.msg_id]).await?;
        let record = found.remove(&revision.msg_id).filter(is_shown).ok_or_else(missing)?;
        let earlier = cold.countable_up_to(before(revision.msg_id)).await?.unwrap_or_default();
        Ok(Self {
            sender: record.sender,
            kind: record.kind.unsigned_abs().into(),
            countable: if record.countable > earlier { record.countable } else { 0 },
            has_content: record.content == revision.change.content().as_bytes(),
        })
    }
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
