//! Messages as answers show them: receipts, messages, what they refer to.

use super::scalar::IdOut;
use super::text::Text;
use im_domain::ext::Ext;
use im_domain::message::{Ack, Action, ControlRef, Kind, Message, Quote, QuoteStatus, Receipt, Status};
use im_domain::{ConversationId, UserId};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Receipt")]
pub struct ReceiptOut {
    msg_id: IdOut,
    /// Place in the conversation: 1, 2, 3 …
    seq: u64,
    #[schemars(with = "Text<ConversationId>")]
    conversation_id: String,
    create_time: u64,
    epoch: String,
    /// The message had been stored before; the rest is as it was the first time.
    duplicate: bool,
    #[schemars(with = "Text<Ack>")]
    ack: &'static str,
}

impl From<Receipt> for ReceiptOut {
    fn from(receipt: Receipt) -> Self {
        Self {
            msg_id: IdOut(receipt.msg_id),
            seq: receipt.seq,
            conversation_id: receipt.conversation.into_string(),
            create_time: receipt.create_time,
            epoch: receipt.epoch,
            duplicate: receipt.duplicate,
            ack: receipt.ack.as_str(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Message")]
pub struct MessageOut<'a> {
    msg_id: IdOut,
    seq: u64,
    #[schemars(with = "Text<ConversationId>")]
    conversation_id: &'a str,
    #[schemars(with = "Text<UserId>")]
    sender_id: &'a str,
    #[schemars(with = "Text<Kind>")]
    r#type: &'static str,
    /// Empty unless the status is normal.
    content: &'a str,
    client_msg_id: &'a str,
    create_time: u64,
    #[schemars(with = "Text<Status>")]
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    edit_time: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<QuoteOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json_text")]
    #[schemars(with = "Option<Map<String, Value>>")]
    ext: Option<&'a Ext>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#ref: Option<RefOut>,
}

impl<'a> MessageOut<'a> {
    pub fn new(conversation: &'a ConversationId, message: &'a Message) -> Self {
        Self {
            msg_id: IdOut(message.msg_id),
            seq: message.seq,
            conversation_id: conversation.as_str(),
            sender_id: message.sender.as_str(),
            r#type: message.kind.as_str(),
            content: &message.content,
            client_msg_id: &message.client_msg_id,
            create_time: message.create_time,
            status: message.status.as_str(),
            edit_time: message.edit_time,
            reply_to: message.reply_to.as_ref().map(QuoteOut::new),
            ext: message.ext.as_ref(),
            r#ref: message.control.map(RefOut::from),
        }
    }
}

/// Writes the text of an `ext` as the JSON it is.
fn json_text<S: Serializer>(ext: &Option<&Ext>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = ext.map_or("null", Ext::as_str);
    let json: &RawValue = serde_json::from_str(text).map_err(serde::ser::Error::custom)?;
    json.serialize(serializer)
}

/// The message that a message answers, as its reader may see it now.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Quote")]
struct QuoteOut<'a> {
    msg_id: IdOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<UserId>>")]
    sender_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<&'a str>,
    #[schemars(with = "Text<QuoteStatus>")]
    status: &'static str,
}

impl<'a> QuoteOut<'a> {
    fn new(quote: &'a Quote) -> Self {
        Self {
            msg_id: IdOut(quote.msg_id),
            sender_id: quote.sender.as_ref().map(UserId::as_str),
            preview: quote.preview.as_deref(),
            status: quote.status.as_str(),
        }
    }
}

/// What a control message is about.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ControlRef")]
struct RefOut {
    msg_id: IdOut,
    #[schemars(with = "Text<Action>")]
    action: &'static str,
}

impl From<ControlRef> for RefOut {
    fn from(control: ControlRef) -> Self {
        Self { msg_id: IdOut(control.msg_id), action: control.action.as_str() }
    }
}
