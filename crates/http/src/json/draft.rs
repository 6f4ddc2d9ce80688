//! Messages as `send` takes them.

use super::list::List;
use super::scalar::{IdIn, Millis};
use super::text::{Sendable, Text};
use super::{Object, Raw};
use crate::auth::Caller;
use crate::problem::Problem;
use im_domain::ext::Ext;
use im_domain::limits::{BATCH_MESSAGES_MAX, CONTENT_BYTES_MAX};
use im_domain::message::{Ack, Draft, Target};
use im_domain::{ClientMsgId, ConversationId, UserId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// One message to send.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Draft")]
pub struct DraftIn<'a> {
    /// The sender, where a service sends for a user.
    user_id: Option<Text<UserId>>,
    /// Where to: this conversation, or the single chat with `toUserId`.
    conversation_id: Option<Text<ConversationId>>,
    to_user_id: Option<Text<UserId>>,
    /// The client's own id of the message: a retry carries the same one and stores nothing new.
    client_msg_id: Text<ClientMsgId>,
    /// When the client made the message: by it a retry is known that comes months later, unless `clientMsgId` is a
    /// UUIDv7 or a ULID, which tell the time themselves.
    client_time: Option<Millis>,
    r#type: Text<Sendable>,
    /// At most 65,536 bytes of UTF-8; kept byte for byte.
    #[schemars(length(max = CONTENT_BYTES_MAX))]
    content: String,
    /// The message of the same conversation that this one answers.
    reply_to: Option<Object<ReplyToIn>>,
    /// Free JSON that travels with the message: at most 4,096 bytes, 32 levels.
    #[serde(borrow)]
    ext: Option<Raw<'a, Map<String, Value>>>,
    /// Does not count as unread.
    silent: Option<bool>,
    /// What the receipt must promise; a batch has one for all its messages.
    ack: Option<Text<Ack>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ReplyTo")]
struct ReplyToIn {
    msg_id: IdIn,
}

/// Several messages, each stored or refused on its own.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "DraftBatch")]
pub struct BatchIn<'a> {
    /// The sender of those messages that name none, where a service sends for users.
    pub user_id: Option<Text<UserId>>,
    pub ack: Option<Text<Ack>>,
    #[serde(borrow)]
    pub messages: List<Raw<'a, DraftIn<'a>>, 1, BATCH_MESSAGES_MAX>,
}

impl DraftIn<'_> {
    pub fn user_id(&self) -> Option<UserId> {
        self.user_id.as_ref().map(|user| user.0.clone())
    }

    /// The acknowledgement a message that stands alone asks for.
    pub fn ack(&self) -> Ack {
        self.ack.as_ref().map_or(Ack::Accepted, |ack| ack.0)
    }

    /// As [`Self::draft`], for a message of a batch.
    pub fn item(self, caller: &Caller, user: &UserId) -> Result<Draft, Problem> {
        if self.ack.is_some() {
            return Err(Problem::invalid("ack", "a batch has one ack for all, beside messages"));
        }
        self.draft(caller, user)
    }

    /// `user`: the sender where the message names none.
    pub fn draft(self, caller: &Caller, user: &UserId) -> Result<Draft, Problem> {
        let draft = Draft {
            sender: match self.user_id {
                Some(Text(named)) => caller.acting_user(Some(named))?,
                None => user.clone(),
            },
            target: target(self.conversation_id, self.to_user_id)?,
            client_msg_id: self.client_msg_id.0,
            client_time: self.client_time.map(|time| time.0),
            kind: self.r#type.0.0,
            content: self.content,
            reply_to: self.reply_to.map(|Object(reply)| reply.msg_id.0),
            ext: self.ext.map(|raw| Ext::parse(raw.text())).transpose()?,
            silent: self.silent.unwrap_or(false),
        };
        draft.check()?;
        Ok(draft)
    }
}

fn target(conversation: Option<Text<ConversationId>>, peer: Option<Text<UserId>>) -> Result<Target, Problem> {
    match (conversation, peer) {
        (Some(Text(conversation)), None) => Ok(Target::Conversation(conversation)),
        (None, Some(Text(peer))) => Ok(Target::Peer(peer)),
        _ => Err(Problem::invalid("conversationId", "name either conversationId or toUserId")),
    }
}
