//! Append: id, `seq` and idempotency in one transaction.

use super::clock::Counters;
use super::cold::Cold;
use super::head::{Head, NewMessage};
use super::retention::{expired_up_to, times};
use super::{Embedded, conversation, transaction};
use crate::params;
use crate::sql::{Row, SqlError};
use crate::sqlite::Sqlite;
use im_domain::conversation::ConversationKind;
use im_domain::ext::Ext;
use im_domain::message::{Ack, Draft, FINGERPRINT_BYTES, Receipt, Target};
use im_domain::partition::partition_of;
use im_domain::storage::Actor;
use im_domain::{ConversationId, Error, MsgId, Result};
use std::collections::BTreeMap;

pub(super) fn append<P: Sqlite>(
    store: &Embedded<P>,
    actor: &Actor,
    drafts: Vec<Draft>,
    ack: Ack,
) -> Result<Vec<Result<Receipt>>> {
    let work = || {
        let mut batch = Batch { store, actor, ack, heads: BTreeMap::new(), counters: None };
        let receipts = batch.append_all(drafts)?;
        batch.flush()?;
        Ok(receipts)
    };
    match ack {
        Ack::Accepted => transaction::write(store, work),
        Ack::Persisted => transaction::write_flushed(store, work),
    }
}

/// One call's appends. Heads and the counters are read once and written once, however many messages of a
/// conversation the call brings.
struct Batch<'a, P> {
    store: &'a Embedded<P>,
    actor: &'a Actor,
    ack: Ack,
    heads: BTreeMap<i64, Head>,
    counters: Option<Counters>,
}

/// What the database knows of a draft before it is stored.
struct State {
    head: Head,
    kind: ConversationKind,
    epoch: String,
    is_member: bool,
    /// Countable messages the sender had sent before this call.
    own: u64,
    counters: Counters,
    /// Id, `seq` and fingerprint of the message stored under the same clientMsgId.
    earlier: Option<(MsgId, u64, Vec<u8>)>,
    quoted_exists: bool,
    /// Messages up to this id are in segments.
    cold: MsgId,
    /// Up to this one the sender sees nothing.
    floor: MsgId,
}

impl<P: Sqlite> Batch<'_, P> {
    fn append_all(&mut self, drafts: Vec<Draft>) -> Result<Vec<Result<Receipt>>> {
        let mut receipts = Vec::with_capacity(drafts.len());
        for draft in drafts {
            match self.append_one(draft) {
                Err(error) if error.is_systemic() => return Err(error),
                receipt => receipts.push(receipt),
            }
        }
        Ok(receipts)
    }

    fn append_one(&mut self, draft: Draft) -> Result<Receipt> {
        draft.check()?;
        let conversation = self.resolve(&draft)?;
        let partition = partition_of(&self.actor.tenant, &conversation);
        let state = self.state(&draft, &conversation)?;
        self.may_write(&state)?;
        let fingerprint = draft.fingerprint();
        if let Some((msg_id, seq, stored)) = state.earlier {
            if stored != fingerprint {
                return Err(Error::conflict("clientMsgId", "was used before for another message"));
            }
            return Ok(self.receipt(conversation, msg_id, seq, state.epoch, true));
        }
        if draft.reply_to.is_some() && !state.quoted_exists {
            return Err(quoted_is_missing());
        }
        let epoch = state.epoch.clone();
        let (msg_id, seq) = self.insert(draft, state, partition, fingerprint)?;
        Ok(self.receipt(conversation, msg_id, seq, epoch, false))
    }

    /// The conversation a draft goes to; a pair's chat is made on first use.
    fn resolve(&mut self, draft: &Draft) -> Result<ConversationId> {
        let peer = match &draft.target {
            Target::Conversation(id) => return Ok(id.clone()),
            Target::Peer(peer) => peer,
        };
        if let Some(found) = conversation::find_pair(self.store, &self.actor.tenant, &draft.sender, peer)? {
            return Ok(found);
        }
        // A chat that is yet to be made has nothing to reply to, and a refused draft makes none.
        if draft.reply_to.is_some() {
            return Err(quoted_is_missing());
        }
        let mut counters = self.counters.map_or_else(|| Counters::load(self.store), Ok)?;
        let made =
            conversation::make_pair(self.store, &self.actor.tenant, &draft.sender, peer, &mut counters)?;
        self.counters = Some(counters);
        Ok(made)
    }

    fn may_write(&self, state: &State) -> Result<()> {
        if !state.is_member {
            return Err(Error::NotMember);
        }
        if state.kind == ConversationKind::System && !self.actor.privileged {
            return Err(Error::forbidden("only services write to system conversations"));
        }
        Ok(())
    }

    fn receipt(
        &self,
        conversation: ConversationId,
        msg_id: MsgId,
        seq: u64,
        epoch: String,
        duplicate: bool,
    ) -> Receipt {
        let create_time = msg_id.time_ms();
        Receipt { msg_id, seq, conversation, create_time, epoch, duplicate, ack: self.ack }
    }

    fn state(&self, draft: &Draft, conversation: &ConversationId) -> Result<State> {
        let statement = format!(
            "SELECT {0}, c.kind, s.epoch, m.user IS NOT NULL, coalesce(m.own, 0), {1},
                e.msg_id, e.seq, e.fingerprint, q.msg_id IS NOT NULL, c.cold_msg_id,
                max({2}, iif(c.history = 1, coalesce(m.floor, 0), 0))
            FROM conversation c JOIN store s ON s.id = 1
            LEFT JOIN member m ON m.cid = c.cid AND m.user = ?3
            LEFT JOIN message e ON e.cid = c.cid AND e.sender = ?3 AND e.client_msg_id = ?4
                AND e.control_msg_id IS NULL
            LEFT JOIN message q ON q.cid = c.cid AND q.msg_id = ?5
                AND q.msg_id > max({2}, iif(c.history = 1, coalesce(m.floor, 0), 0))
            WHERE c.tenant = ?1 AND c.name = ?2",
            Head::COLUMNS,
            Counters::COLUMNS,
            expired_up_to!("?6")
        );
        let parameters = params![
            self.actor.tenant.as_str(),
            conversation.as_str(),
            draft.sender.as_str(),
            draft.client_msg_id.as_str(),
            draft.reply_to,
            times(self.store, &self.actor.tenant),
        ];
        let mut rows = self.store.db.execute(&statement, parameters)?;
        let row = rows.first_mut().ok_or(Error::ConversationNotFound)?;
        let mut state = State::read(row)?;
        self.look_into_cold(draft, &mut state)?;
        Ok(state)
    }

    /// Looks in segments for the message that is quoted, and for an earlier copy of the draft, where that tells its
    /// age and was made so long ago.
    fn look_into_cold(&self, draft: &Draft, state: &mut State) -> Result<()> {
        let cold = Cold { store: self.store, cid: state.head.cid };
        let quoted = draft.reply_to.filter(|quoted| *quoted > state.floor && *quoted <= state.cold);
        if let Some(quoted) = quoted.filter(|_| !state.quoted_exists) {
            state.quoted_exists = cold.find_one(quoted)?.is_some();
        }
        let made_at = [draft.client_time, draft.client_msg_id.made_at_ms()].into_iter().flatten().min();
        let made_at = made_at.filter(|made_at| MsgId::floor_of(*made_at) <= state.cold);
        if let Some(made_at) = made_at.filter(|_| state.earlier.is_none()) {
            let found = cold.earlier(draft.sender.as_str(), draft.client_msg_id.as_str(), made_at)?;
            state.earlier = found.map(|record| (record.msg_id, record.seq, record.fingerprint.to_vec()));
        }
        Ok(())
    }

    fn insert(
        &mut self,
        draft: Draft,
        state: State,
        partition: u8,
        fingerprint: [u8; FINGERPRINT_BYTES],
    ) -> Result<(MsgId, u64)> {
        let counters = self.counters.get_or_insert(state.counters);
        let head = self.heads.entry(state.head.cid).or_insert(state.head);
        let message = NewMessage {
            sender: draft.sender.as_str(),
            client_msg_id: draft.client_msg_id.as_str(),
            fingerprint,
            kind: draft.kind,
            content: draft.content.into_bytes(),
            reply_to: draft.reply_to,
            ext: draft.ext.map(Ext::into_string),
            control: None,
            own: (!draft.silent).then_some(state.own),
        };
        let msg_id = head.put(self.store, counters, partition, message)?;
        Ok((msg_id, head.seq))
    }

    /// Writes heads, tells members, and writes the counters.
    fn flush(&self) -> Result<(), SqlError> {
        self.heads.values().try_for_each(|head| head.save(self.store))?;
        self.counters.map_or(Ok(()), |counters| counters.save(self.store))
    }
}

impl State {
    fn read(row: &mut Row) -> Result<Self, SqlError> {
        Ok(Self {
            head: Head::read(row)?,
            kind: row.case(ConversationKind::from_number)?,
            epoch: row.text()?,
            is_member: row.flag()?,
            own: row.count()?,
            counters: Counters::read(row)?,
            earlier: earlier(row)?,
            quoted_exists: row.flag()?,
            cold: row.msg_id()?,
            floor: row.msg_id()?,
        })
    }
}

fn quoted_is_missing() -> Error {
    Error::MessageNotFound { field: "replyTo.msgId".into() }
}

fn earlier(row: &mut Row) -> Result<Option<(MsgId, u64, Vec<u8>)>, SqlError> {
    let msg_id = row.opt_msg_id()?;
    let seq = row.opt_int()?.and_then(|seq| u64::try_from(seq).ok());
    let fingerprint = row.opt_blob()?;
    Ok(msg_id.zip(seq).zip(fingerprint).map(|((msg_id, seq), fingerprint)| (msg_id, seq, fingerprint)))
}
