//! What there is of one user.

use super::audit::note;
use super::cold::Cold;
use super::feed::{self, Feed};
use super::{Embedded, transaction};
use crate::audit::Deed;
use crate::cold::is_own;
use crate::export::{ColdPart, Own, OwnCold, Owned, may_export};
use crate::feed::Kept;
use crate::params;
use crate::sql::{Row, SqlError, Value};
use crate::sqlite::Sqlite;
use im_domain::conversation::Role;
use im_domain::export::{Export, ExportCursor, Member, Membership, Sent};
use im_domain::storage::Actor;
use im_domain::{DeviceId, MsgId, Result, UserId};

/// That it was asked is on disk before the answer leaves.
pub(super) async fn export<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    user: &UserId,
    cursor: ExportCursor,
    limit: u32,
) -> Result<Export> {
    may_export(actor)?;
    let is_first = cursor == ExportCursor::START;
    let feed = feed::read(store, &actor.tenant)?;
    let mut export = crate::export::part(&feed, user, cursor, limit).await?;
    if is_first {
        export.profile = Some(crate::export::profile(store, actor, user).await?);
    }
    transaction::write_flushed(store, || Ok(note(store, actor, Deed::export_of(user))?))?;
    Ok(export)
}

const MEMBER: &str = "SELECT role, floor, read_msg_id, muted FROM member WHERE cid = ?1 AND user = ?2";
const POSITIONS: &str = "SELECT device, msg_id FROM position WHERE cid = ?1 AND user = ?2 ORDER BY device";
const HIDES: &str = "SELECT 1 FROM hidden WHERE cid = ?1 AND user = ?2 LIMIT 1";
const HIDDEN: &str = "
    SELECT msg_id FROM hidden WHERE cid = ?1 AND user = ?2 AND msg_id > ?3 ORDER BY msg_id LIMIT ?4";
const OWN: &str = "
    SELECT client_msg_id, msg_id FROM message
    WHERE cid = ?1 AND sender = ?2 AND control_msg_id IS NULL AND client_msg_id > ?3
    ORDER BY client_msg_id LIMIT ?4";

impl<P: Sqlite> Owned for Feed<'_, P> {
    async fn memberships(&self, user: &UserId, kept: &[Kept]) -> Result<Vec<Membership>> {
        let mut all = Vec::new();
        for one in kept {
            let about = || params![one.home.cid, user.as_str()];
            let member = self.store.db.execute(MEMBER, about())?.first_mut().map(member).transpose()?;
            let positions = self.store.db.execute(POSITIONS, about())?;
            let positions: Vec<_> =
                positions.into_iter().map(|mut row| position(&mut row)).collect::<Result<_>>()?;
            let hides = !self.store.db.execute(HIDES, about())?.is_empty();
            if member.is_some() || !positions.is_empty() || hides {
                let conversation = one.name.clone();
                all.push(Membership { conversation, member, positions, hidden: Vec::new() });
            }
        }
        Ok(all)
    }

    async fn hidden(&self, user: &UserId, kept: &[Kept], count: usize) -> Result<Vec<(usize, MsgId)>> {
        let mut all = Vec::new();
        for (at, one) in kept.iter().enumerate() {
            let left = count.saturating_sub(all.len());
            if left == 0 {
                break;
            }
            let parameters = params![one.home.cid, user.as_str(), one.expired, left as u64];
            for mut row in self.store.db.execute(HIDDEN, parameters)? {
                all.push((at, row.msg_id()?));
            }
        }
        Ok(all)
    }

    async fn own_cold(&self, user: &UserId, kept: &Kept, part: ColdPart) -> Result<OwnCold> {
        let cold = Cold { store: self.store, cid: kept.home.cid.to_sql() };
        transaction::read(self.store, || own_cold(&cold, user, part))
    }

    /// A clientMsgId stands for one message of a sender in a conversation.
    async fn own(
        &self,
        user: &UserId,
        kept: &[Kept],
        after: Option<&Sent>,
        count: usize,
    ) -> Result<Vec<Own>> {
        let mut all: Vec<Own> = Vec::new();
        for (at, one) in kept.iter().enumerate() {
            let left = count.saturating_sub(all.len());
            if left == 0 {
                break;
            }
            let after = after.filter(|_| at == 0).map_or("", |sent| sent.client_msg_id.as_str());
            let parameters: Vec<Value> = params![one.home.cid, user.as_str(), after, left as u64];
            for mut row in self.store.db.execute(OWN, parameters)? {
                all.push(Own::row(at, Sent { client_msg_id: row.text()?, msg_id: row.msg_id()? }));
            }
        }
        Ok(all)
    }
}

/// What a user has sent that is in segments.
fn own_cold<P: Sqlite>(cold: &Cold<'_, P>, user: &UserId, part: ColdPart) -> Result<OwnCold> {
    let mut found = OwnCold { sent: Vec::new(), segments: 0, up_to: None };
    let mut above = part.above;
    while found.segments < part.segments && found.sent.len() < part.count {
        let Some(segment) = cold.next(above)? else { return Ok(found) };
        found.segments += 1;
        let records = segment.records(cold.number())?.into_iter();
        let own = records.filter(|record| record.msg_id > above && is_own(record, user.as_str()));
        found.sent.extend(own.map(|one| Sent { client_msg_id: one.client_msg_id, msg_id: one.msg_id }));
        above = segment.last_id;
    }
    found.up_to = Some(above);
    Ok(found)
}

fn member(row: &mut Row) -> Result<Member, SqlError> {
    let role = row.case(Role::from_number)?;
    let (joined_after, read_msg_id) = (row.msg_id()?, row.msg_id()?);
    Ok(Member { role, joined_after, read_msg_id, muted: row.flag()? })
}

fn position(row: &mut Row) -> Result<(DeviceId, MsgId)> {
    Ok((DeviceId::parse(row.text()?)?, row.msg_id()?))
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::embedded::testing::{assert_searches, plan};

    #[test]
    fn each_conversation_is_asked_by_an_index() {
        for (statement, parameters) in [(MEMBER, 2), (POSITIONS, 2), (HIDES, 2), (HIDDEN, 4), (OWN, 4)] {
            let plan = plan(statement, parameters);
            assert_searches(&plan, &[]);
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:#?}");
        }
        assert!(plan(OWN, 4).iter().any(|step| step.contains("client_msg_id>")));
    }
}
