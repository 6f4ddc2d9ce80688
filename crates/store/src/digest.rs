//! The first level of a sync: conversations, newest first, each with its newest messages.

use im_domain::conversation::Conversation;
use im_domain::device::{Digest, Digested};
use im_domain::message::Message;
use im_domain::page::{Direction, PageQuery};
use im_domain::storage::{Actor, Storage};
use im_domain::{Error, MsgId, Result};

/// A part of the list, and a short page of each conversation on it.
pub(crate) async fn digest(
    store: &impl Storage,
    actor: &Actor,
    cursor: &str,
    limit: u32,
    latest: u32,
) -> Result<Digest> {
    let list = store.list(actor, cursor, limit).await?;
    let spoken: Vec<&Conversation> = list.conversations.iter().filter(|one| one.last.is_some()).collect();
    let query = |conversation: &&Conversation| PageQuery {
        conversation: conversation.id.clone(),
        cursor: MsgId::NONE,
        limit: latest,
        direction: Direction::Up,
        from_ms: None,
        to_ms: None,
        kinds: Vec::new(),
    };
    let pages = match spoken.is_empty() {
        true => Vec::new(),
        false => store.page(actor, spoken.iter().map(query).collect()).await?,
    };
    let mut pages = pages.into_iter();
    let mut conversations = Vec::with_capacity(list.conversations.len());
    for conversation in list.conversations {
        let latest: Vec<Message> = match conversation.last.is_some().then(|| pages.next()).flatten() {
            Some(Ok(page)) => page.messages,
            // Left meanwhile.
            Some(Err(Error::NotMember | Error::ConversationNotFound)) => continue,
            Some(Err(error)) => return Err(error),
            None => Vec::new(),
        };
        conversations.push(Digested { conversation, latest });
    }
    Ok(Digest { conversations, cursor: list.cursor, has_more: list.has_more })
}
