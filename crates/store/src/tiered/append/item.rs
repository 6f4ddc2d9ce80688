//! A draft on its way through the append.

use crate::arguments;
use crate::redis::Argument;
use crate::tiered::keys::Place;
use crate::tiered::record::Record;
use crate::tiered::stamp;
use im_domain::message::{Draft, FINGERPRINT_BYTES, Target, summary_of};
use im_domain::{ConversationId, MsgId, UserId};

pub(super) struct Item {
    /// Place in the call.
    pub index: usize,
    pub draft: Draft,
    pub peer: Option<UserId>,
    pub conversation: ConversationId,
    pub place: Place,
    pub fingerprint: [u8; FINGERPRINT_BYTES],
    /// SQL has said that the quoted message is there.
    pub quoted_is_known: bool,
    pub copy: EarlierCopy,
    /// When it was made, as far as it tells, in milliseconds since 1970.
    pub made_at_ms: Option<u64>,
}

/// How it is known whether a draft was stored before.
#[derive(Clone, Copy, Debug)]
pub(super) enum EarlierCopy {
    MarkerDecides = 0,
    /// The draft is older than markers are kept.
    MayBeInSql = 1,
    /// SQL was asked and has none.
    NotInSql = 2,
}

/// What `append.lua` made of a draft.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    Stored(MsgId, u64),
    Duplicate(MsgId, u64),
    Conflict,
    Cold,
    NotMember,
    MayNotWrite,
    QuotedIsCold,
    NothingToQuote,
    MayBeInSql,
    /// An earlier draft of the conversation has to be decided first.
    Waits,
}

impl Item {
    /// Drafts from before `marked_since_ms` may have lost their marker.
    pub fn new(
        index: usize,
        draft: Draft,
        conversation: ConversationId,
        place: Place,
        marked_since_ms: u64,
    ) -> Self {
        let peer = match &draft.target {
            Target::Peer(peer) => Some(peer.clone()),
            Target::Conversation(_) => None,
        };
        let made_at = [draft.client_time, draft.client_msg_id.made_at_ms()].into_iter().flatten().min();
        Self {
            index,
            peer,
            conversation,
            place,
            fingerprint: draft.fingerprint(),
            quoted_is_known: false,
            copy: match made_at.is_some_and(|made_at| made_at < marked_since_ms) {
                true => EarlierCopy::MayBeInSql,
                false => EarlierCopy::MarkerDecides,
            },
            made_at_ms: made_at,
            draft,
        }
    }

    pub fn marker(&self) -> String {
        self.place.marker(self.draft.sender.as_str(), self.draft.client_msg_id.as_str())
    }

    /// Adds what `append.lua` is told of an item; `at`: the number of its conversation.
    pub fn describe(&self, at: u64, arguments: &mut Vec<Argument>) {
        let draft = &self.draft;
        let reply = draft.reply_to.map(stamp::text).unwrap_or_default();
        arguments.extend(arguments![
            at,
            draft.sender.as_str(),
            self.fingerprint.to_vec(),
            !draft.silent,
            draft.kind.number().unsigned_abs(),
            reply,
            self.quoted_is_known,
            self.copy as u64,
            Record::of(draft, self.fingerprint).encode(),
            summary_of(&draft.content)
        ]);
    }
}
