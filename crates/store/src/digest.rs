//! The first level of a sync: conversations, newest first, each with its newest messages.

use futures::stream::{self, StreamExt, TryStreamExt};
use im_domain::conversation::Conversation;
use im_domain::device::{Digest, Digested};
use im_domain::limits::PAGE_CONTENT_BYTES_MAX;
use im_domain::page::{Direction, PageQuery, cut};
use im_domain::storage::{Actor, Storage};
use im_domain::{Error, MsgId, Result};

/// Pages asked for at once: as many answers are under way.
const PAGES_AT_ONCE: usize = 16;

/// A part of the list, and a short page of each conversation on it.
pub(crate) async fn digest(
    store: &impl Storage,
    actor: &Actor,
    cursor: &str,
    limit: u32,
    latest: u32,
) -> Result<Digest> {
    let list = store.list(actor, cursor, limit).await?;
    let pages = list.conversations.into_iter().map(|one| newest(store, actor, one, latest));
    let digested: Vec<Option<Digested>> =
        stream::iter(pages).buffered(PAGES_AT_ONCE).try_collect::<Vec<_>>().await?;
    let mut conversations: Vec<Digested> = digested.into_iter().flatten().collect();
    // Together they are no more than one call brings.
    let mut room = PAGE_CONTENT_BYTES_MAX;
    for one in &mut conversations {
        cut(&mut one.latest, latest, &mut room);
    }
    Ok(Digest { conversations, cursor: list.cursor, has_more: list.has_more })
}

/// A conversation with its newest messages; none when it was left meanwhile.
async fn newest(
    store: &impl Storage,
    actor: &Actor,
    conversation: Conversation,
    latest: u32,
) -> Result<Option<Digested>> {
    // What the list has looked for in vain may be further down.
    if conversation.head_seq == 0 {
        return Ok(Some(Digested { conversation, latest: Vec::new() }));
    }
    let query = PageQuery {
        conversation: conversation.id.clone(),
        cursor: MsgId::NONE,
        limit: latest,
        direction: Direction::Up,
        from_ms: None,
        to_ms: None,
        kinds: Vec::new(),
    };
    match store.page(actor, vec![query]).await?.pop() {
        Some(Ok(page)) => Ok(Some(Digested { conversation, latest: page.messages })),
        Some(Err(Error::NotMember | Error::ConversationNotFound)) => Ok(None),
        Some(Err(error)) => Err(error),
        None => Err(Error::internal("a page was not answered")),
    }
}
