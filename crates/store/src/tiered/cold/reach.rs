//! Before entries can be stored, what they change has to be in rows, or to be known.

use super::{Cold, place};
use crate::cold::is_erased;
use crate::postgres::Postgres;
use crate::tiered::apply::Lifted;
use crate::tiered::entry::{Body, Entry, Erased};
use im_domain::{Error, Result};

/// Makes it so for entries of one class. The inner error is why they never can be stored.
pub(in super::super) async fn reach<P: Postgres>(
    db: &P,
    entries: &mut [Entry],
) -> Result<Result<Lifted, String>> {
    let reached = match entries {
        [Entry { body: Body::Revision(revision), .. }] => {
            let version = Cold { db, cid: revision.cid }.lift(&[revision.msg_id], |_| false).await;
            version.map(|version| Lifted { version, ..Lifted::default() })
        }
        [Entry { body: Body::Erased(erased), .. }] => lift(db, erased).await,
        entries => place::place(db, entries).await.map(|()| Lifted::default()),
    };
    match reached {
        Err(Error::Internal { reason }) => Ok(Err(reason)),
        reached => reached.map(Ok),
    }
}

async fn lift<P: Postgres>(db: &P, erased: &Erased) -> Result<Lifted> {
    let cold = Cold { db, cid: erased.cid };
    let places = cold.places(&erased.msg_ids).await?;
    Ok(Lifted { version: cold.lift(&erased.msg_ids, is_erased).await?, places })
}
