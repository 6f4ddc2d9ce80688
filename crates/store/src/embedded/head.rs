//! The head of a conversation, where messages are put.

use super::Embedded;
use super::clock::Counters;
use crate::params;
use crate::sql::{Row, SqlError, Value};
use crate::sqlite::Sqlite;
use im_domain::MsgId;
use im_domain::message::{ControlRef, FINGERPRINT_BYTES, Kind};
use std::collections::BTreeMap;

/// The head of a conversation, as it will stand when the call is done.
pub(super) struct Head {
    pub cid: i64,
    msg_id: MsgId,
    /// The first of this call's messages.
    first: MsgId,
    /// The newest message that is no control message.
    shown: MsgId,
    pub seq: u64,
    countable: u64,
    /// When something was said last.
    version: u64,
    /// When a control message of this call came; 0: there is none.
    revised: u64,
    /// Whether members are not told.
    wide: bool,
    /// Countable messages this call adds, by sender.
    own: BTreeMap<String, u64>,
}

/// A message that is to be stored.
pub(super) struct NewMessage<'a> {
    pub sender: &'a str,
    pub client_msg_id: &'a str,
    pub fingerprint: [u8; FINGERPRINT_BYTES],
    pub kind: Kind,
    pub content: Vec<u8>,
    pub reply_to: Option<MsgId>,
    pub ext: Option<String>,
    pub control: Option<ControlRef>,
    /// If it counts: how many that do its sender had sent before this call, since joining.
    pub own: Option<u64>,
}

impl Head {
    /// Columns of the conversation `c` that [`Self::read`] takes.
    pub const COLUMNS: &str =
        "c.cid, c.head_msg_id, c.shown_msg_id, c.head_seq, c.head_countable, c.version, c.wide";

    pub fn read(row: &mut Row) -> Result<Self, SqlError> {
        Ok(Self {
            cid: row.int()?,
            msg_id: row.msg_id()?,
            first: MsgId::NONE,
            shown: row.msg_id()?,
            seq: row.count()?,
            countable: row.count()?,
            version: row.count()?,
            revised: 0,
            wide: row.flag()?,
            own: BTreeMap::new(),
        })
    }

    /// Stores a message as the newest one; the caller saves the head and the counters.
    pub fn put<P: Sqlite>(
        &mut self,
        store: &Embedded<P>,
        counters: &mut Counters,
        partition: u8,
        message: NewMessage<'_>,
    ) -> Result<MsgId, SqlError> {
        const STATEMENT: &str = "
            INSERT INTO message (cid, msg_id, seq, countable, sender, client_msg_id, fingerprint, kind,
                content, reply_to, ext, own, control_msg_id, control_action)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
        let now_ms = store.now_ms();
        self.msg_id = counters.next_id(now_ms, partition);
        if self.first.is_none() {
            self.first = self.msg_id;
        }
        let version = counters.next_version(now_ms);
        match message.control {
            Some(_) => self.revised = version,
            None => self.version = version,
        }
        let own = self.advance(&message);
        let parameters = params![
            self.cid,
            self.msg_id,
            self.seq,
            self.countable,
            message.sender,
            message.client_msg_id,
            message.fingerprint.as_slice(),
            message.kind.number(),
            Value::Blob(message.content),
            message.reply_to,
            message.ext,
            own,
            message.control.map(|control| control.msg_id),
            message.control.map(|control| control.action.number()),
        ];
        store.db.execute(STATEMENT, parameters)?;
        Ok(self.msg_id)
    }

    /// Takes a message in. If it counts: how many that do its sender had sent before.
    fn advance(&mut self, message: &NewMessage<'_>) -> Option<u64> {
        self.seq += 1;
        if message.control.is_none() {
            self.shown = self.msg_id;
        }
        let before = message.own?;
        self.countable += 1;
        let own = self.own.entry(message.sender.to_owned()).or_default();
        *own += 1;
        Some(before + *own - 1)
    }

    /// Writes the head and tells members.
    pub fn save<P: Sqlite>(&self, store: &Embedded<P>) -> Result<(), SqlError> {
        const STATEMENT: &str = "
            UPDATE conversation SET head_msg_id = ?2, shown_msg_id = ?3, head_seq = ?4, head_countable = ?5,
                version = ?6, update_time = ?7, revision_version = max(revision_version, ?8),
                oldest_msg_id = coalesce(oldest_msg_id, ?9)
            WHERE cid = ?1";
        let parameters = params![
            self.cid,
            self.msg_id,
            self.shown,
            self.seq,
            self.countable,
            self.version,
            self.msg_id.time_ms(),
            self.revised,
            self.first,
        ];
        store.db.execute(STATEMENT, parameters)?;
        match self.revised {
            0 => self.tell(store),
            revised => self.tell_of_revision(store, revised),
        }
    }

    /// Tells the members of a narrow conversation; it stays where it is in their lists.
    fn tell_of_revision<P: Sqlite>(&self, store: &Embedded<P>, revised: u64) -> Result<(), SqlError> {
        const STATEMENT: &str = "UPDATE member SET other = ?2 WHERE cid = ?1";
        if !self.wide {
            store.db.execute(STATEMENT, params![self.cid, revised])?;
        }
        Ok(())
    }

    /// Tells the members of a narrow conversation, and counts what senders have said: one statement for
    /// the first of them, and all members, and one for each other one.
    fn tell<P: Sqlite>(&self, store: &Embedded<P>) -> Result<(), SqlError> {
        const ALL: &str = "
            UPDATE member SET recency = ?2, own = own + iif(user = ?3, ?4, 0) WHERE cid = ?1";
        const OWN: &str = "UPDATE member SET own = own + ?3 WHERE cid = ?1 AND user = ?2";
        let mut senders = self.own.iter().map(|(sender, count)| (sender.as_str(), *count));
        if !self.wide {
            let (sender, count) = senders.next().unwrap_or_default();
            store.db.execute(ALL, params![self.cid, self.version, sender, count])?;
        }
        for (sender, count) in senders {
            store.db.execute(OWN, params![self.cid, sender, count])?;
        }
        Ok(())
    }
}
