//! `im send`: sends one message and prints its receipt.

use std::io::Read;

use clap::builder::PossibleValuesParser;
use im_domain::limits::CONTENT_BYTES_MAX;
use im_domain::message::{Ack, Kind};
use im_domain::{ClientMsgId, ConversationId, UserId};
use serde_json::value::RawValue;

use super::CommandError;
use super::connection::{PersonOptions, run_client};
use crate::client::wire::{Draft, SEND};
use crate::client::{show, uuid};
use crate::output;

/// The content that stands for stdin.
const STDIN: &str = "-";

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("target").required(true))]
pub struct Args {
    /// Conversation to send to
    #[arg(long, value_name = "CONVERSATION", group = "target", value_parser = |id: &str| ConversationId::parse(id))]
    to: Option<ConversationId>,
    /// User to send to, in the single chat of the two, which is made if need be
    #[arg(long, value_name = "USER", group = "target", value_parser = |id: &str| UserId::parse(id))]
    to_user: Option<UserId>,
    /// Type of the message
    #[arg(long, value_name = "TYPE", default_value = "text",
          value_parser = PossibleValuesParser::new(Kind::SENDABLE.map(Kind::as_str)))]
    r#type: String,
    /// Own id of the message: sent again with the same one, it is stored once [default: a random UUID]
    #[arg(long, value_name = "ID", value_parser = |id: &str| ClientMsgId::parse(id))]
    client_msg_id: Option<ClientMsgId>,
    /// What the receipt must promise
    #[arg(long, value_name = "ACK",
          value_parser = PossibleValuesParser::new(Ack::ALL.iter().map(|ack| ack.as_str())))]
    ack: Option<String>,
    #[command(flatten)]
    person: PersonOptions,
    /// Content; `-` reads it from stdin, as it is
    #[arg(value_name = "CONTENT", allow_hyphen_values = true)]
    content: String,
}

pub fn run(args: Args) -> Result<(), CommandError> {
    let client_msg_id = match args.client_msg_id {
        Some(id) => id.into_string(),
        None => uuid().map_err(CommandError::failed)?,
    };
    let content = if args.content == STDIN { stdin()? } else { args.content };
    let client = args.person.client()?;
    let draft = Draft {
        user_id: None,
        conversation_id: args.to.as_ref().map(ConversationId::as_str),
        to_user_id: args.to_user.as_ref().map(UserId::as_str),
        client_msg_id: &client_msg_id,
        client_time: None,
        r#type: &args.r#type,
        content: &content,
        ack: args.ack.as_deref(),
    };
    run_client(async {
        let receipt: Box<RawValue> = client.post(SEND, &draft).await.map_err(CommandError::failed)?;
        output::line(&show::json_line(&receipt));
        Ok(())
    })
}

/// All of stdin, up to what a message can hold.
fn stdin() -> Result<String, CommandError> {
    let mut content = String::new();
    let most = CONTENT_BYTES_MAX as u64 + 1;
    let read = std::io::stdin().lock().take(most).read_to_string(&mut content);
    read.map_err(|e| CommandError::Failed(format!("stdin: {e}")))?;
    if content.len() > CONTENT_BYTES_MAX {
        return Err(CommandError::Failed(format!(
            "stdin: a message holds at most {CONTENT_BYTES_MAX} bytes of UTF-8"
        )));
    }
    Ok(content)
}
