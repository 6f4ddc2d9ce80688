//! What a message was before, for audit: SQL alone has it, so SQL is waited for.

use super::cold::Cold;
use super::keys::Place;
use super::retention::{expired_up_to, times_in_sql};
use super::rows::SHOWN;
use super::{Tiered, audit, persist};
use crate::audit::{Deed, VERSIONS};
use crate::cold::is_shown;
use crate::params;
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::sql::Row;
use crate::version_row::{self, unprivileged};
use im_domain::revision::Version;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result};

/// That it was asked is on disk before the answer leaves.
pub(super) async fn versions<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    conversation: &ConversationId,
    msg_id: MsgId,
) -> Result<Vec<Version>> {
    if !actor.privileged {
        return Err(unprivileged());
    }
    let place = Place::of(&actor.tenant, conversation);
    persist::reach_now(store, place.partition).await?;
    let cid = find(store, &place).await?;
    let versions = version_row::versions(rows(store, actor, &place, cid, msg_id).await?)?;
    let deed = Deed::to_message(VERSIONS, conversation, msg_id);
    audit::note(store, actor, place.partition, deed).await?;
    Ok(versions)
}

async fn find<R: Redis, P: Postgres>(store: &Tiered<R, P>, place: &Place) -> Result<MsgId> {
    const STATEMENT: &str = "SELECT cid FROM conversation WHERE tenant = $1::text AND name = $2::text";
    let parameters = params![place.tenant(), place.conversation()];
    let mut rows = store.sql(place.partition).await?.query(STATEMENT, parameters).await?;
    Ok(rows.first_mut().ok_or(Error::ConversationNotFound)?.msg_id()?)
}

/// The revisions of a message that has not expired, and then the message. What was revised last is final, if
/// anything is, whenever SQL has learnt of it.
async fn rows<R: Redis, P: Postgres>(
    store: &Tiered<R, P>,
    actor: &Actor,
    place: &Place,
    cid: MsgId,
    msg_id: MsgId,
) -> Result<Vec<Row>> {
    let statement = format!(
        "SELECT action, id, user_id, role, reason, content FROM (
            SELECT (action <> 2)::int AS place, action::bigint, control_msg_id AS id, user_id, role::bigint, reason,
                content
            FROM revision WHERE cid = $1::bigint AND msg_id = $2::bigint
            UNION ALL
            SELECT 2, 0, x.msg_id, x.sender, x.kind, ''::bytea, x.content
            FROM message x JOIN conversation c ON c.cid = x.cid
            WHERE x.cid = $1::bigint AND x.msg_id = $2::bigint AND x.msg_id > {} AND {SHOWN}) v
        ORDER BY place, id",
        expired_up_to("$3")
    );
    let packed = format!(
        "SELECT 1 FROM conversation c WHERE c.cid = $1::bigint AND c.cold_msg_id >= $2::bigint AND $2::bigint > {}
            AND NOT EXISTS (SELECT 1 FROM message WHERE cid = c.cid AND msg_id = $2::bigint)",
        expired_up_to("$3")
    );
    let db = store.sql(place.partition).await?;
    let cold = Cold { db, cid };
    let parameters = || vec![cid.into(), msg_id.into(), times_in_sql(store, &actor.tenant)];
    cold.steadily(async |_| {
        let mut rows = db.query(&statement, parameters()).await?;
        if !db.query(&packed, parameters()).await?.is_empty() {
            let found = cold.find(&[msg_id]).await?.remove(&msg_id).filter(is_shown);
            rows.extend(found.map(version_row::packed));
        }
        Ok(rows)
    })
    .await
}
