//! Erasing a user: of each conversation in one transaction.

use super::audit::{Look, note};
use super::clock::Counters;
use super::feed::{self, Feed};
use super::{Embedded, transaction};
use crate::erase::{AUDITED, Eraser, Erasure, may_erase};
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::erase::Erased;
use im_domain::export::ExportCursor;
use im_domain::partition::partition_of;
use im_domain::storage::Actor;
use im_domain::{MsgId, Result, UserId};

/// That it was asked is on disk before anything goes; and what has gone is in no file of the database when the answer
/// leaves, unless somebody is reading: then it is with a later part, or when the log of changes is next taken in.
pub(super) async fn erase<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    user: &UserId,
    cursor: ExportCursor,
) -> Result<Erased> {
    may_erase(actor)?;
    let look = Look { action: AUDITED, conversation: "", msg_id: MsgId::NONE, subject: user.as_str() };
    transaction::write_flushed(store, || note(store, actor, look))?;
    let feed = feed::read(store, &actor.tenant)?;
    let erased = crate::erase::part(&feed, &actor.user, user, cursor).await?;
    store.run_statement("PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(erased)
}

/// ?1 conversation, ?2 user, ?3 messages (JSON), ?4 who erases, ?5 when (ms since 1970), ?6 a number of its own. What was
/// there until now is traced as deleted, so that it counts for nobody.
const TRACE: &str = "
    INSERT INTO revision (cid, msg_id, number, action, control_msg_id, sender, uncounted, user, role, time, reason,
        content)
    SELECT cid, msg_id, 1 + (SELECT count(*) FROM revision v WHERE v.cid = x.cid AND v.msg_id = x.msg_id), 3, ?6,
        sender, own IS NOT NULL, ?4, 0, ?5, '', x''
    FROM message x WHERE cid = ?1 AND sender = ?2 AND status = 0 AND msg_id IN (SELECT value FROM json_each(?3))";
/// ?4: what makes a name that no client can have given; what was erased before keeps its own.
const EMPTY: &str = "
    UPDATE message SET status = 2, content = x'', ext = NULL, edit_time = NULL, fingerprint = zeroblob(16),
        client_msg_id = iif(fingerprint = zeroblob(16), client_msg_id, '!erased:' || msg_id || ':' || ?4)
    WHERE cid = ?1 AND sender = ?2 AND msg_id IN (SELECT value FROM json_each(?3))";
const UNTRACE: &str = "
    UPDATE revision SET content = x'', ext = NULL, reason = iif(user = ?2, '', reason)
    WHERE cid = ?1 AND msg_id IN (SELECT value FROM json_each(?3))";
const UNTRACE_REASONS: &str = "UPDATE revision SET reason = '' WHERE cid = ?1 AND user = ?2 AND reason <> ''";
const TELL: &str = "
    INSERT INTO late (place, cid, msg_id, kind) SELECT ?3, ?1, value, 4 FROM json_each(?2)";
/// Of a chat of two, which goes on, the user begins anew, as somebody who has joined just now and sees what comes.
const BEGIN_ANEW: &str = "
    UPDATE member SET floor = c.head_msg_id, own = 0, read_msg_id = c.head_msg_id,
        read_countable = c.head_countable, read_own = 0, muted = 0
    FROM conversation c WHERE member.cid = ?1 AND member.user = ?2 AND c.cid = ?1 AND c.kind = 1";
const LEAVE: &str = "
    DELETE FROM member WHERE cid = ?1 AND user = ?2 AND (SELECT kind FROM conversation WHERE cid = ?1) <> 1
    RETURNING 1";
const COUNT: &str = "
    UPDATE conversation SET member_count = member_count - ?2, history = iif(kind = 1 AND ?4, 1, history),
        revision_version = ?3, membership_version = ?3
    WHERE cid = ?1";
const OF_DEVICES: &str = "DELETE FROM position WHERE cid = ?1 AND user = ?2";
const OF_THE_PAST: &str = "DELETE FROM departed WHERE cid = ?1 AND user = ?2";
const DEVICES: &str = "DELETE FROM device WHERE tenant = ?1 AND user = ?2";
const PUSH: &str = "DELETE FROM push WHERE tenant = ?1 AND user = ?2";

impl<P: Sqlite> Eraser for Feed<'_, P> {
    async fn erase(&self, erasure: Erasure<'_>) -> Result<()> {
        transaction::write_flushed(self.store, || {
            let (cid, user) = (erasure.kept.home.cid, erasure.user.as_str());
            let ids: Vec<i64> = erasure.sent.iter().map(|sent| sent.msg_id.to_sql()).collect();
            let ids = serde_json::Value::from(ids).to_string();
            let mut counters = Counters::load(self.store)?;
            let now_ms = self.store.now_ms();
            let stamp = counters.next_id(now_ms, partition_of(self.tenant, &erasure.kept.name));
            let version = counters.next_version(now_ms);
            counters.save(self.store)?;
            let run = |statement: &str, parameters| self.store.db.execute(statement, parameters);
            run(UNTRACE, params![cid, user, ids.as_str()])?;
            run(TRACE, params![cid, user, ids.as_str(), erasure.by.as_str(), now_ms, stamp])?;
            run(EMPTY, params![cid, user, ids.as_str(), self.store.random_name()])?;
            run(TELL, params![cid, ids.as_str(), stamp.place()])?;
            let mut left = 0;
            if erasure.leaves {
                run(UNTRACE_REASONS, params![cid, user])?;
                run(BEGIN_ANEW, params![cid, user])?;
                left = run(LEAVE, params![cid, user])?.len() as u64;
                run(OF_DEVICES, params![cid, user])?;
                run(OF_THE_PAST, params![cid, user])?;
            }
            run(COUNT, params![cid, left, version, erasure.leaves])?;
            Ok(())
        })
    }

    async fn forget(&self, user: &UserId) -> Result<()> {
        transaction::write_flushed(self.store, || {
            for statement in [DEVICES, PUSH] {
                self.store.db.execute(statement, params![self.tenant.as_str(), user.as_str()])?;
            }
            Ok(())
        })
    }
}
