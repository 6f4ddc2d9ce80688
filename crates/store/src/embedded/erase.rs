//! Erasing a user: of each conversation in one transaction.

mod packed;

use super::audit::note;
use super::clock::Counters;
use super::cold::Cold;
use super::feed::{self, Feed};
use super::{Embedded, transaction};
use crate::audit::Deed;
use crate::erase::{Eraser, Erasure, Outcome, may_erase};
use crate::params;
use crate::sqlite::Sqlite;
use im_domain::erase::Erased;
use im_domain::export::ExportCursor;
use im_domain::partition::partition_of;
use im_domain::storage::Actor;
use im_domain::{Result, UserId};

/// That it was asked is on disk before anything goes; and what has gone is in no file of the database when the answer
/// leaves, unless somebody is reading: then it is with a later part, or when the log of changes is next taken in.
pub(super) async fn erase<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    user: &UserId,
    cursor: ExportCursor,
) -> Result<Erased> {
    may_erase(actor, &store.environment.retention.of(&actor.tenant, store.now_ms()))?;
    transaction::write_flushed(store, || Ok(note(store, actor, Deed::erasure_of(user))?))?;
    let feed = feed::read(store, &actor.tenant)?;
    let erased = crate::erase::part(&feed, &actor.user, user, cursor).await?;
    store.run_statement("PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(erased)
}

const HELD: &str = "SELECT 1 FROM conversation WHERE cid = ?1 AND legal_hold = 1";
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
/// ?4: where the feed has it; of what was erased before it has that already.
const TELL: &str = "
    INSERT INTO late (place, cid, msg_id, kind) SELECT ?4, cid, msg_id, 4 FROM message
    WHERE cid = ?1 AND sender = ?2 AND fingerprint <> zeroblob(16) AND msg_id IN (SELECT value FROM json_each(?3))";
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
const OF_SIGHT: &str = "DELETE FROM hidden WHERE cid = ?1 AND user = ?2";
/// ?1 tenant, ?2 user.
const DEPARTED: &str = "
    DELETE FROM departed WHERE tenant = ?1 AND user = ?2
        AND NOT EXISTS (SELECT 1 FROM conversation c WHERE c.cid = departed.cid AND c.legal_hold = 1)";
const DEVICES: &str = "DELETE FROM device WHERE tenant = ?1 AND user = ?2";
const PUSH: &str = "DELETE FROM push WHERE tenant = ?1 AND user = ?2";

impl<P: Sqlite> Eraser for Feed<'_, P> {
    async fn erase(&self, erasure: &Erasure<'_>) -> Result<Outcome> {
        transaction::write_flushed(self.store, || {
            let (cid, user) = (erasure.kept.home.cid, erasure.user.as_str());
            if !self.store.db.execute(HELD, params![cid])?.is_empty() {
                return Ok(Outcome::Held);
            }
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
            run(TELL, params![cid, user, ids.as_str(), stamp.place()])?;
            let random = self.store.random_name();
            run(EMPTY, params![cid, user, ids.as_str(), random.as_str()])?;
            let cold = Cold { store: self.store, cid: cid.to_sql() };
            packed::erase(&cold, erasure, &packed::Mark { stamp, now_ms, random: &random })?;
            let mut left = 0;
            if erasure.leaves {
                run(UNTRACE_REASONS, params![cid, user])?;
                run(BEGIN_ANEW, params![cid, user])?;
                left = run(LEAVE, params![cid, user])?.len() as u64;
                run(OF_DEVICES, params![cid, user])?;
                run(OF_SIGHT, params![cid, user])?;
            }
            run(COUNT, params![cid, left, version, erasure.leaves])?;
            Ok(Outcome::Erased)
        })
    }

    async fn forget(&self, user: &UserId) -> Result<()> {
        transaction::write_flushed(self.store, || {
            for statement in [DEPARTED, DEVICES, PUSH] {
                self.store.db.execute(statement, params![self.tenant.as_str(), user.as_str()])?;
            }
            Ok(())
        })
    }
}
