//! Members of conversations in which something was said are marked: a time at which to look whether they
//! are due.

use super::place_of;
use crate::embedded::Embedded;
use crate::embedded::retention::times;
use crate::embedded::unread::{others_after, read_or_gone};
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::push::PushRule;
use im_domain::{MsgId, Result, Tenant};
use std::collections::BTreeMap;

/// Members marked by one call: bounds how long senders wait for it. A large group takes several calls.
const MEMBERS_MAX: usize = 1_000;

/// Whether anything was said that pushes do not know of.
pub(super) fn is_needed<P: Sqlite>(store: &Embedded<P>, tenant: &Tenant) -> Result<bool> {
    const STATEMENT: &str = "
        SELECT 1 FROM conversation WHERE tenant = ?1 AND head_countable > fanned_countable LIMIT 1";
    Ok(!store.db.execute(STATEMENT, params![tenant.as_str()])?.is_empty())
}

/// Marks members, those of the conversation first that has waited longest.
pub(super) fn fan_out<P: Sqlite>(store: &Embedded<P>, tenant: &Tenant, rule: PushRule) -> Result<()> {
    let parameters = params![tenant.as_str(), MEMBERS_MAX as u64, None::<u64>, times(store, tenant)];
    let rows = store.db.execute(&statement(), parameters)?;
    let is_full = rows.len() == MEMBERS_MAX;
    let members = rows.into_iter().map(Member::read).collect::<Result<Vec<_>, _>>()?;
    let last = members.last().filter(|_| is_full);
    let cut = last.and_then(|member| Some((member.cid, member.user.clone()?)));
    let mut cids: Vec<i64> = members.iter().map(|member| member.cid).collect();
    cids.dedup();
    cids.retain(|cid| cut.as_ref().is_none_or(|(cut, _)| cid != cut));
    let mut marks = BTreeMap::new();
    members.into_iter().for_each(|member| mark(&mut marks, member));
    save_marks(store, tenant, rule, &marks)?;
    finish(store, &cids)?;
    cut.map_or(Ok(()), |(cid, user)| Ok(interrupt(store, cid, &user)?))
}

/// A member of a conversation, and what the user waits for so far.
struct Member {
    cid: i64,
    /// None: the conversation has no members that have not been marked.
    user: Option<String>,
    /// What is new in the conversation, at most.
    messages: u64,
    first: MsgId,
    mark: Mark,
}

/// What is known of a user who waits.
struct Mark {
    messages: u64,
    oldest_ms: u64,
    seen_ms: u64,
}

impl Member {
    fn read(mut row: Row) -> Result<Self, SqlError> {
        let (cid, user) = (row.int()?, row.opt_text()?);
        let (messages, first) = (row.count()?, row.opt_msg_id()?.unwrap_or_default());
        let mark = Mark { messages: row.count()?, oldest_ms: row.count()?, seen_ms: row.count()? };
        Ok(Self { cid, user, messages, first, mark })
    }
}

/// Adds up what is new for each user.
fn mark(marks: &mut BTreeMap<String, Mark>, member: Member) {
    let Some(user) = member.user.filter(|_| member.messages > 0) else { return };
    let mark = marks.entry(user).or_insert(member.mark);
    mark.messages += member.messages;
    mark.oldest_ms = mark.oldest_ms.min(member.first.time_ms());
}

fn save_marks<P: Sqlite>(
    store: &Embedded<P>,
    tenant: &Tenant,
    rule: PushRule,
    marks: &BTreeMap<String, Mark>,
) -> Result<(), SqlError> {
    const STATEMENT: &str = "
        INSERT INTO push (tenant, user, messages, oldest, look)
        SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?2) WHERE true
        ON CONFLICT DO UPDATE SET messages = excluded.messages, oldest = excluded.oldest,
            look = iif(lease IS NULL, excluded.look, look)";
    let now_ms = store.now_ms();
    let row = |(user, mark): (&String, &Mark)| {
        let due_ms = rule.due_ms(now_ms, mark.messages, mark.oldest_ms, mark.seen_ms);
        serde_json::json!([user, mark.messages, mark.oldest_ms, due_ms])
    };
    let rows: serde_json::Value = marks.iter().map(row).collect();
    store.db.execute(STATEMENT, params![tenant.as_str(), rows.to_string()]).map(|_| ())
}

/// All members of these conversations have been marked. A round that took several calls goes as far as
/// the conversation had come when it began.
fn finish<P: Sqlite>(store: &Embedded<P>, cids: &[i64]) -> Result<(), SqlError> {
    const STATEMENT: &str = "
        UPDATE conversation SET fan_user = '',
            fanned_msg_id = iif(fan_user = '', head_msg_id, fan_msg_id),
            fanned_countable = iif(fan_user = '', head_countable, fan_countable)
        WHERE cid IN (SELECT value FROM json_each(?1))";
    store.db.execute(STATEMENT, params![serde_json::Value::from(cids).to_string()]).map(|_| ())
}

/// The members of a conversation have been marked up to `user`; the next call goes on.
fn interrupt<P: Sqlite>(store: &Embedded<P>, cid: i64, user: &str) -> Result<(), SqlError> {
    const STATEMENT: &str = "
        UPDATE conversation SET fan_user = ?2,
            fan_msg_id = iif(fan_user = '', head_msg_id, fan_msg_id),
            fan_countable = iif(fan_user = '', head_countable, fan_countable)
        WHERE cid = ?1";
    store.db.execute(STATEMENT, params![cid, user]).map(|_| ())
}

/// Members in the order of the conversations that wait, and how many messages are new for each: not more
/// than have come since the last round, and none that a sync or a push has dealt with. Segments are not asked: what
/// begins in them is guessed.
fn statement() -> String {
    let since = place_of("max(coalesce(w.since, 0), iif(w.lease IS NULL, 0, w.covered))");
    let after = format!("max({}, {since})", read_or_gone());
    format!(
        "SELECT c.cid, m.user,
            iif(m.user IS NULL OR m.muted, 0, min(c.head_countable - c.fanned_countable,
                iif({after} < c.cold_msg_id, c.head_countable, {others}))),
            iif({after} < c.cold_msg_id, {after}, (SELECT x.msg_id FROM message x
                WHERE x.cid = c.cid AND x.msg_id > {after} ORDER BY x.msg_id LIMIT 1)),
            coalesce(w.messages, 0), coalesce(w.oldest, {never}), coalesce(w.seen, 0)
        FROM conversation c
        LEFT JOIN member m ON m.cid = c.cid AND m.user > c.fan_user
        LEFT JOIN push w ON w.tenant = c.tenant AND w.user = m.user
        WHERE c.tenant = ?1 AND c.head_countable > c.fanned_countable AND ?3 IS NULL
        ORDER BY c.fanned_msg_id, c.cid, m.user LIMIT ?2",
        never = i64::MAX,
        others = others_after(&after),
    )
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use crate::embedded::testing::{assert_searches, plan};

    #[test]
    fn a_call_costs_the_members_it_marks_whatever_waits() {
        let plan = plan(&super::statement(), 4);
        assert_searches(&plan, &[]);
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:#?}");
        assert!(plan.iter().any(|step| step.contains("conversation_to_fan")), "{plan:#?}");
    }
}
