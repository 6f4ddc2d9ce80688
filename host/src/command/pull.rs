//! `im pull`: shows the history of a conversation, a page or all of it.

use im_domain::limits::{PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};
use im_domain::page::Direction;
use im_domain::{ConversationId, MsgId};

use super::CommandError;
use super::connection::{PersonOptions, run_client};
use crate::client::Client;
use crate::client::show::{self, Form};
use crate::client::wire::{PULL, Page, PageRequest};
use crate::output;

#[derive(clap::Args)]
pub struct Args {
    /// Conversation to read
    #[arg(value_name = "CONVERSATION", value_parser = |id: &str| ConversationId::parse(id))]
    conversation: ConversationId,
    /// Newest first, older than the cursor (the default)
    #[arg(long, conflicts_with = "down")]
    up: bool,
    /// Oldest first, newer than the cursor
    #[arg(long)]
    down: bool,
    /// Messages on a page
    #[arg(long, value_name = "N", default_value_t = PAGE_ITEMS_DEFAULT,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(PAGE_ITEMS_MAX)))]
    limit: u32,
    /// Message to read on from; 0: from the newest, or the oldest with --down
    #[arg(long, visible_alias = "after", value_name = "ID", default_value = "0", value_parser = message_id)]
    cursor: MsgId,
    /// Page after page to the end
    #[arg(long)]
    all: bool,
    /// One message a line, as the server writes it
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    person: PersonOptions,
}

/// A message id of the command line.
pub fn message_id(text: &str) -> Result<MsgId, String> {
    let number = text.parse().ok().and_then(MsgId::new);
    number.ok_or_else(|| "must be the id of a message, a decimal number".to_owned())
}

pub fn run(args: Args) -> Result<(), CommandError> {
    let direction = if args.down { Direction::Down } else { Direction::Up };
    let pull = Pull {
        conversation: args.conversation,
        direction,
        limit: args.limit,
        form: if args.json { Form::Json } else { Form::Human },
    };
    let client = args.person.client()?;
    run_client(pull.run(&client, args.cursor.to_string(), args.all))
}

struct Pull {
    conversation: ConversationId,
    direction: Direction,
    limit: u32,
    form: Form,
}

impl Pull {
    async fn run(&self, client: &Client, mut cursor: String, all: bool) -> Result<(), CommandError> {
        loop {
            let page = self.page(client, &cursor).await?;
            show::messages(&page.messages, self.form).map_err(CommandError::failed)?;
            if !page.has_more {
                return Ok(());
            }
            if !all {
                output::note(&format!("im: there is more: --cursor {}", page.cursor));
                return Ok(());
            }
            if page.cursor == cursor {
                return Err(CommandError::Failed(format!("{PULL}: the server stays at {cursor}")));
            }
            cursor = page.cursor;
        }
    }

    async fn page(&self, client: &Client, cursor: &str) -> Result<Page, CommandError> {
        let request = PageRequest {
            conversation_id: self.conversation.as_str(),
            limit: self.limit,
            last_msg_id: Some(cursor.to_owned()),
            direction: Some(self.direction.as_str()),
            epoch: None,
        };
        client.post(PULL, &request).await.map_err(CommandError::failed)
    }
}
