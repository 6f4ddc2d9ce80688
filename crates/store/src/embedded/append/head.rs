//! The head of a conversation that a call appends to.

use crate::embedded::Embedded;
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::MsgId;
use im_domain::message::Draft;
use std::collections::BTreeMap;

/// The head of a conversation, as it will stand when the call is done.
pub(super) struct Head {
    msg_id: MsgId,
    pub seq: u64,
    pub countable: u64,
    /// When the last of this call's messages came.
    version: u64,
    /// Whether members are not told.
    wide: bool,
    /// Countable messages this call adds, by sender.
    own: BTreeMap<String, u64>,
}

impl Head {
    /// Takes the columns `head_msg_id, head_seq, head_countable, wide`.
    pub fn read(row: &mut Row) -> Result<Self, SqlError> {
        Ok(Self {
            msg_id: row.msg_id()?,
            seq: row.count()?,
            countable: row.count()?,
            version: 0,
            wide: row.flag()?,
            own: BTreeMap::new(),
        })
    }

    /// Takes a message in. If it counts: how many that do its sender had sent in this call before.
    pub fn advance(&mut self, msg_id: MsgId, version: u64, draft: &Draft) -> Option<u64> {
        (self.msg_id, self.version) = (msg_id, version);
        self.seq += 1;
        if draft.silent {
            return None;
        }
        self.countable += 1;
        let own = self.own.entry(draft.sender.as_str().to_owned()).or_default();
        *own += 1;
        Some(*own - 1)
    }

    pub fn save<P: Sqlite>(&self, store: &Embedded<P>, cid: i64) -> Result<(), SqlError> {
        const STATEMENT: &str = "
            UPDATE conversation SET head_msg_id = ?2, head_seq = ?3, head_countable = ?4, version = ?5,
                update_time = ?6
            WHERE cid = ?1";
        let time = self.msg_id.time_ms();
        let parameters = params![cid, self.msg_id, self.seq, self.countable, self.version, time];
        store.db.execute(STATEMENT, parameters)?;
        self.tell(store, cid)
    }

    /// Tells the members of a narrow conversation, and counts what senders have said: one statement for
    /// all members and the first sender, and one for each other sender.
    fn tell<P: Sqlite>(&self, store: &Embedded<P>, cid: i64) -> Result<(), SqlError> {
        const ALL: &str = "UPDATE member SET recency = ?2, own = own + iif(user = ?3, ?4, 0) WHERE cid = ?1";
        const OWN: &str = "UPDATE member SET own = own + ?3 WHERE cid = ?1 AND user = ?2";
        let mut senders = self.own.iter().map(|(sender, count)| (sender.as_str(), *count));
        if !self.wide {
            let (sender, count) = senders.next().unwrap_or_default();
            store.db.execute(ALL, params![cid, self.version, sender, count])?;
        }
        for (sender, count) in senders {
            store.db.execute(OWN, params![cid, sender, count])?;
        }
        Ok(())
    }
}
