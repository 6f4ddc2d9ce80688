//! Conversations as SQL has them, for lists: those of which nothing is hot.

use super::{Facts, Member, State, Versions, View, kept, newest_left};
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::sql::{Row, Value};
use crate::tiered::Tiered;
use crate::tiered::retention::{expired_up_to, times_in_sql};
use crate::tiered::version::version_of;
use im_domain::conversation::{ConversationKind, History};
use im_domain::message::{SUMMARY_BYTES, Status, summary_of_bytes};
use im_domain::retention::Keeping;
use im_domain::storage::Actor;
use im_domain::{ConversationId, MsgId, Result};

/// Conversations of one database as SQL has them, in any order; those the user is no member of are
/// left out.
pub(in super::super) async fn cold<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    database: usize,
    actor: &Actor,
    names: Vec<String>,
) -> Result<Vec<(ConversationId, View)>> {
    let statement = format!(
        "SELECT c.name, s.epoch, c.cid, c.kind, c.history, c.member_count, c.head_seq, c.head_countable,
            c.head_msg_id, c.create_time, c.update_time, x.sender, x.kind,
            CASE WHEN x.status = 0 THEN substring(x.content FROM 1 FOR {SUMMARY_BYTES}) END,
            EXISTS (SELECT 1 FROM revision v WHERE v.cid = c.cid)::int,
            c.shown_msg_id, x.msg_id, x.seq, x.status, (SELECT count(*) FROM revision v WHERE v.cid = c.cid
                AND v.countable > greatest(m.read_countable, coalesce(o.place - 1, 0))),
            (SELECT count(*) FROM hidden h WHERE h.cid = c.cid AND h.user_id = $3::text AND h.counts = 1
                AND h.msg_id > greatest(m.read_msg_id, e.expired) AND NOT EXISTS (SELECT 1 FROM revision v
                    WHERE v.cid = h.cid AND v.msg_id = h.msg_id AND v.countable > 0)),
            m.floor, m.read_msg_id, m.read_countable, m.read_own, m.own, m.muted,
            EXISTS (SELECT 1 FROM hidden h WHERE h.cid = c.cid AND h.user_id = $3::text)::int, o.msg_id, o.place,
            coalesce(o.own, 0), c.retention_ms, c.legal_hold, e.expired,
            (c.cold_msg_id > e.expired AND m.read_msg_id < e.expired)::int,
            (c.cold_msg_id > e.expired AND x.msg_id IS NULL)::int
        FROM conversation c
        JOIN member m ON m.cid = c.cid AND m.user_id = $3::text
        JOIN partition_state s ON s.partition = (c.cid >> 14) & 255
        CROSS JOIN LATERAL (SELECT {} AS expired) e
        LEFT JOIN LATERAL ({}) x ON true
        LEFT JOIN LATERAL ({}) o ON true
        WHERE c.tenant = $1::text AND c.name = ANY ($2::text[])",
        expired_up_to("$4"),
        newest_left("c.cid", "msg_id <= c.shown_msg_id AND msg_id > e.expired", "$3::text"),
        kept(
            "c.cid",
            "e.expired",
            "9223372036854775807",
            "$3::text",
            "m.read_msg_id < e.expired AND c.cold_msg_id <= e.expired"
        )
    );
    let parameters = vec![
        actor.tenant.as_str().into(),
        Value::Texts(names.into_iter().map(Some).collect()),
        actor.user.as_str().into(),
        times_in_sql(store, &actor.tenant),
    ];
    let db = store.database(database)?;
    let mut views = Vec::new();
    for mut row in db.query(&statement, parameters).await? {
        let (id, mut view) = cold_view(&mut row)?;
        let (begins_in_cold, has_left_in_cold) = (row.flag()?, row.flag()?);
        if let Some(facts) = view.facts.as_mut().filter(|_| begins_in_cold) {
            facts.complete_cold(db, &actor.user).await?;
            facts.recount(db).await?;
        }
        if let Some(facts) = view.facts.as_mut().filter(|_| has_left_in_cold) {
            facts.find_left_in_cold(db, &actor.user, MsgId::MAX).await?;
        }
        views.push((id, view));
    }
    Ok(views)
}

fn cold_view(row: &mut Row) -> Result<(ConversationId, View)> {
    let id = ConversationId::parse(row.text()?)?;
    let epoch = row.text()?;
    let mut facts = Facts {
        cid: row.msg_id()?,
        kind: row.case(ConversationKind::from_number)?,
        history: row.case(History::from_number)?,
        members: row.count()?,
        seq: row.count()?,
        count: row.count()?,
        last: row.msg_id()?,
        // Rows are all there is.
        hot: MsgId::MAX,
        create_time: row.count()?,
        update_time: row.count()?,
        last_sender: row.opt_text()?.unwrap_or_default(),
        last_kind: row.opt_int()?.unwrap_or_default().unsigned_abs(),
        last_summary: row.opt_blob()?.map(|start| summary_of_bytes(&start)).unwrap_or_default(),
        // By which number it was revised is not kept.
        versions: Versions { revision: if row.flag()? { u64::MAX } else { 0 }, ..Versions::default() },
        placed: version_of(row.msg_id()?),
        shown: row.opt_msg_id()?.unwrap_or_default(),
        shown_seq: row.opt_int()?.unwrap_or_default().unsigned_abs(),
        shown_status: row.opt_int()?.and_then(Status::from_number).unwrap_or(Status::Normal),
        recalled: row.count()?,
        hidden: row.count()?,
        left_below: None,
        member: Some(cold_member(row)?),
        oldest: row.opt_msg_id()?.zip(row.opt_int()?.map(i64::unsigned_abs)),
        own_kept: row.count()?,
        own: Keeping { retention_ms: row.opt_int()?.map(i64::unsigned_abs), legal_hold: row.flag()? },
        expired: row.msg_id()?,
    };
    facts.placed = facts.placed.max(version_of(facts.cid));
    Ok((id, View { state: State::Cold, epoch, facts: Some(facts) }))
}

fn cold_member(row: &mut Row) -> Result<Member> {
    Ok(Member {
        floor: row.msg_id()?,
        read: row.msg_id()?,
        read_count: row.count()?,
        read_own: row.count()?,
        own: row.count()?,
        muted: row.flag()?,
        read_version: u64::MAX,
        set_version: u64::MAX,
        hidden_version: if row.flag()? { u64::MAX } else { 0 },
    })
}
