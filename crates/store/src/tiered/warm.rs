//! Making a conversation hot as SQL has it.

use super::keys::Place;
use super::version::version_of;
use super::view::{State, View};
use super::{Tiered, limits, persist, script, stamp, unknown_word};
use crate::postgres::Postgres;
use crate::redis::{Argument, Redis, Value};
use crate::sql::Row;
use crate::{arguments, params};
use im_domain::message::{SUMMARY_BYTES, summary_of_bytes};
use im_domain::{ConversationId, Error, MsgId, Result};

/// How a conversation stands after an attempt to make it hot.
pub(super) enum Warmth {
    Hot,
    /// It does not exist; `epoch` is that under which SQL was asked.
    Missing {
        epoch: String,
    },
    /// It is the own id of a pair whose chat has another one.
    Elsewhere(ConversationId),
}

/// Makes a conversation hot, unless it is. A hot state that is not trusted any more is replaced once SQL
/// has everything that was written to the partition.
pub(super) async fn warm<R: Redis, P: Postgres>(store: &Tiered<R, P>, place: &Place) -> Result<Warmth> {
    for _ in 0..limits::ATTEMPTS_MAX {
        let view = View::of(store, place, None).await?;
        match view.state {
            State::Hot => return Ok(Warmth::Hot),
            State::Untrusted => persist::reach_now(store, place.partition).await?,
            // Hot state is only let go of when SQL has all of it; a key may have been lost otherwise.
            State::Cold => persist::reach_if_near(store, place.partition).await?,
        }
        if let Some(target) = alias(store, place).await? {
            return Ok(Warmth::Elsewhere(target));
        }
        let Some(mut seed) = load(store, place).await? else {
            return Ok(Warmth::Missing { epoch: view.epoch });
        };
        let mut arguments = arguments![view.epoch.as_str(), limits::IDLE_LIFE_S];
        arguments.append(&mut seed);
        let mut keys = vec![place.clock()];
        keys.extend(place.state());
        // "verify" here means that the epoch is not the one any more under which SQL was asked.
        match store.ask_once(place.partition, &script::SEED, &keys, arguments).await?.0.as_str() {
            "ok" => return Ok(Warmth::Hot),
            "verify" => {}
            word => return Err(unknown_word("seed", word)),
        }
    }
    Err(Error::internal("a conversation could not be made hot"))
}

/// The chat of a pair that has an id of its own, if this is the id it would have otherwise.
pub(super) async fn alias<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    place: &Place,
) -> Result<Option<ConversationId>> {
    if !place.conversation().starts_with(im_domain::pair::PAIR_PREFIX) {
        return Ok(None);
    }
    if let Some(target) = store.aliases.borrow().get(&place.name) {
        return Ok(Some(target.clone()));
    }
    let node = store.node(store.node_of(place.partition))?;
    let hot = node.redis.command("GET", arguments![place.alias()]).await?;
    let target = match hot.into_iter().next() {
        Some(Value::Bytes(bytes)) => String::from_utf8(bytes).ok(),
        _ => cold_alias(store, place).await?,
    };
    let target = target.map(ConversationId::parse).transpose()?;
    if let Some(target) = &target {
        let mut aliases = store.aliases.borrow_mut();
        if aliases.len() >= limits::ALIASES_REMEMBERED_MAX {
            aliases.clear();
        }
        aliases.insert(place.name.clone(), target.clone());
    }
    Ok(target)
}

async fn cold_alias<R: Redis, P: Postgres>(store: &Tiered<R, P>, place: &Place) -> Result<Option<String>> {
    const STATEMENT: &str = "SELECT target FROM alias WHERE tenant = $1::text AND name = $2::text";
    let parameters = params![place.tenant(), place.conversation()];
    let mut rows = store.sql(place.partition).await?.query(STATEMENT, parameters).await?;
    Ok(rows.first_mut().map(Row::text).transpose()?)
}

/// The users, members or not, who have hidden something in a conversation `c`: one search for each.
const WHO_HIDES: &str = "
    WITH RECURSIVE who AS (
        SELECT min(h.user_id) AS user_id FROM hidden h WHERE h.cid = c.cid
        UNION ALL
        SELECT (SELECT min(h.user_id) FROM hidden h WHERE h.cid = c.cid AND h.user_id > who.user_id)
        FROM who WHERE who.user_id IS NOT NULL)
    SELECT string_agg(user_id || chr(10), '') FROM who";

/// What `seed.lua` is told of a conversation: its members, then the head's fields. What was taken back and all
/// members have read is left out, and so is what was hidden and read, but for the last message: it counts for none of
/// them, and none goes back.
async fn load<R: Redis, P: Postgres>(store: &Tiered<R, P>, place: &Place) -> Result<Option<Vec<Argument>>> {
    let statement = format!(
        "SELECT c.cid, c.kind, c.history, c.member_count, c.head_msg_id, c.head_seq, c.head_countable,
            c.head_epoch, c.create_time, c.update_time, x.sender, x.kind,
            CASE WHEN x.status = 0 THEN substring(x.content FROM 1 FOR {SUMMARY_BYTES}) END,
            (SELECT string_agg(concat_ws(' ', m.user_id, m.own, m.role, m.floor >> 22, m.floor & 4194303,
                m.read_msg_id >> 22, m.read_msg_id & 4194303, m.read_countable, m.read_own, m.muted)
                || chr(10), '') FROM member m WHERE m.cid = c.cid),
            (SELECT string_agg(concat(v.countable, ' ', v.msg_id >> 22, '-', v.msg_id & 4194303, chr(10)), '')
                FROM revision v WHERE v.cid = c.cid AND v.countable > 0
                AND v.countable > (SELECT min(m.read_countable) FROM member m WHERE m.cid = c.cid)),
            (SELECT string_agg(concat(h.user_id, ' ', h.msg_id >> 22, '-', h.msg_id & 4194303,
                    CASE h.counts WHEN 1 THEN ' c' ELSE ' s' END, chr(10)), '')
                FROM hidden h LEFT JOIN member m ON m.cid = h.cid AND m.user_id = h.user_id
                WHERE h.cid = c.cid AND h.msg_id >= least(c.shown_msg_id, (SELECT min(m.read_msg_id) FROM member m
                    WHERE m.cid = c.cid)) AND (h.msg_id = c.shown_msg_id OR h.counts = 1 AND h.msg_id > m.read_msg_id)),
            ({WHO_HIDES}),
            c.shown_msg_id, x.seq, x.status,
            EXISTS (SELECT 1 FROM revision v WHERE v.cid = c.cid)::int, c.retention_ms, c.legal_hold
        FROM conversation c LEFT JOIN message x ON x.cid = c.cid AND x.msg_id = c.shown_msg_id
        WHERE c.tenant = $1::text AND c.name = $2::text"
    );
    let parameters = params![place.tenant(), place.conversation()];
    let mut rows = store.sql(place.partition).await?.query(&statement, parameters).await?;
    rows.first_mut().map(seed).transpose()
}

fn seed(row: &mut Row) -> Result<Vec<Argument>> {
    let cid = row.msg_id()?;
    let (kind, history, members) = (row.count()?, row.count()?, row.count()?);
    let (last, seq, count) = (row.msg_id()?, row.count()?, row.count()?);
    let epoch = row.text()?;
    let (create_time, update_time) = (row.count()?, row.count()?);
    let sender = row.opt_text()?.unwrap_or_default();
    let last_kind = row.opt_int()?.unwrap_or_default();
    let summary = row.opt_blob()?.map(|start| summary_of_bytes(&start)).unwrap_or_default();
    let member_lines = row.opt_text()?.unwrap_or_default();
    let recalled_lines = row.opt_text()?.unwrap_or_default();
    let hidden_lines = row.opt_text()?.unwrap_or_default();
    let who_hides = row.opt_text()?.unwrap_or_default();
    let shown = row.msg_id()?;
    let (shown_seq, shown_status) = (row.opt_int()?.unwrap_or_default(), row.opt_int()?.unwrap_or_default());
    let is_revised = row.flag()?;
    let (retention_ms, is_held) = (row.opt_int()?, row.flag()?);
    // Nothing is in the stream: what is hot begins after the last message.
    let hot = MsgId::new(last.number() + 1).unwrap_or(MsgId::MAX);
    let mut seed = arguments![
        member_lines,
        is_revised,
        recalled_lines,
        hidden_lines,
        who_hides,
        "cid",
        stamp::text(cid),
        "kind",
        kind,
        "history",
        history,
        "members",
        members,
        "seq",
        seq,
        "count",
        count,
        "epoch",
        epoch,
        "last",
        stamp::text(last),
        "hot",
        stamp::text(hot),
        "front",
        "",
        "kept",
        stamp::text(last),
        "logged",
        stamp::text(MsgId::NONE),
        "whole",
        0_u64,
        "shown",
        stamp::text(shown),
        "shown_seq",
        shown_seq.unsigned_abs(),
        "shown_status",
        shown_status.unsigned_abs(),
        "last_sender",
        sender,
        "last_kind",
        last_kind.unsigned_abs(),
        "last_summary",
        summary,
        "create_time",
        create_time,
        "update_time",
        update_time,
        "placed",
        version_of(shown.max(cid)),
        "hold",
        is_held
    ];
    if let Some(ms) = retention_ms {
        seed.extend(arguments!["keep", ms.unsigned_abs()]);
    }
    Ok(seed)
}
