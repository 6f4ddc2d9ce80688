//! `im sync`: shows what a device does not have yet of a conversation.

use im_domain::limits::{PAGE_ITEMS_MAX, SYNC_ITEMS_DEFAULT};
use im_domain::{ConversationId, MsgId};

use super::CommandError;
use super::connection::{PersonOptions, run_client};
use super::pull::message_id;
use crate::client::Client;
use crate::client::show::{self, Form};
use crate::client::wire::{Page, PageRequest, SYNC};
use crate::output;

#[derive(clap::Args)]
pub struct Args {
    /// Conversation to follow
    #[arg(value_name = "CONVERSATION", value_parser = |id: &str| ConversationId::parse(id))]
    conversation: ConversationId,
    /// Confirm everything up to this message, and read on from there [default: read on from the
    /// device's position and confirm nothing]
    #[arg(long, visible_alias = "after", value_name = "ID", value_parser = message_id)]
    cursor: Option<MsgId>,
    /// Messages on a page
    #[arg(long, value_name = "N", default_value_t = SYNC_ITEMS_DEFAULT,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(PAGE_ITEMS_MAX)))]
    limit: u32,
    /// Page after page to the end; each is confirmed once it is written to stdout
    #[arg(long)]
    all: bool,
    /// One message a line, as the server writes it
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    person: PersonOptions,
}

pub fn run(args: Args) -> Result<(), CommandError> {
    if !args.person.may_have_device() {
        return Err(CommandError::Usage("sync is a device's: name one with --device".into()));
    }
    let sync = Sync {
        conversation: args.conversation,
        limit: args.limit,
        form: if args.json { Form::Json } else { Form::Human },
    };
    let cursor = args.cursor.map(|id| id.to_string());
    let client = args.person.client()?;
    run_client(async {
        if args.all { sync.all(&client, cursor).await } else { sync.one(&client, cursor).await }
    })
}

struct Sync {
    conversation: ConversationId,
    limit: u32,
    form: Form,
}

impl Sync {
    async fn one(&self, client: &Client, cursor: Option<String>) -> Result<(), CommandError> {
        let page = self.page(client, cursor, None).await?;
        if !page.messages.is_empty() {
            let more = if page.has_more { "there is more" } else { "that is all" };
            output::note(&format!("im: {more}; confirm with --cursor {}", page.cursor));
        }
        Ok(())
    }

    /// Until nothing comes any more: the page after the last one confirms it.
    async fn all(&self, client: &Client, mut cursor: Option<String>) -> Result<(), CommandError> {
        let mut epoch = None;
        loop {
            let page = self.page(client, cursor.clone(), epoch).await?;
            if page.messages.is_empty() {
                return Ok(());
            }
            if cursor.as_ref() == Some(&page.cursor) {
                return Err(CommandError::Failed(format!("{SYNC}: the server stays at {}", page.cursor)));
            }
            cursor = Some(page.cursor);
            epoch = Some(page.epoch);
        }
    }

    /// Fetches a page and writes it out.
    async fn page(
        &self,
        client: &Client,
        cursor: Option<String>,
        epoch: Option<String>,
    ) -> Result<Page, CommandError> {
        let request = PageRequest {
            conversation_id: self.conversation.as_str(),
            limit: self.limit,
            last_msg_id: cursor,
            direction: None,
            epoch,
        };
        let page: Page = client.post(SYNC, &request).await.map_err(CommandError::failed)?;
        show::messages(&page.messages, self.form).map_err(CommandError::failed)?;
        check_reset(&page)?;
        Ok(page)
    }
}

/// A gap in what can still be read is told; a position that leads nowhere is for the person to
/// give up.
fn check_reset(page: &Page) -> Result<(), CommandError> {
    let Some(reset) = &page.reset else { return Ok(()) };
    let what = format!("{}: the oldest message is {}", reset.reason, reset.oldest_msg_id);
    if page.messages.is_empty() {
        return Err(CommandError::Failed(format!("{what}; start again with --cursor 0")));
    }
    output::note(&format!("im: {what}"));
    Ok(())
}
