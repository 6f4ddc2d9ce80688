//! Every limit and default of the product, each with its unit and its reason. The same constants
//! check requests, fill the OpenAPI document and stand in the documentation.

use crate::error::{Error, Result};

/// Largest `content` of a message, in bytes of UTF-8: the size of an origin `TEXT` column.
pub const CONTENT_BYTES_MAX: usize = 65_536;
/// Largest `ext` of a message, in bytes of JSON as sent: a place for marks, not for bodies.
pub const EXT_BYTES_MAX: usize = 4_096;
/// Deepest nesting of `ext`, in levels: what JSON parsers of client platforms take by default.
pub const EXT_DEPTH_MAX: usize = 32;
/// Largest request body, in bytes: a batch of 100 largest messages, escaped moderately.
pub const REQUEST_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How much of a body is taken in only to be thrown away, when a request is refused by its head, in
/// bytes: enough that a client slightly above the limit reads why, not enough to be a burden.
pub const REQUEST_DISCARD_BYTES_MAX: usize = 2 * REQUEST_BYTES_MAX;
/// Longest id of a tenant, user, device or conversation, in characters (all of them ASCII).
pub const NAME_CHARS_MAX: usize = 64;
/// Longest `clientMsgId`, in characters: the origin's column, enough for a UUID or a ULID.
pub const CLIENT_MSG_ID_CHARS_MAX: usize = 64;
/// Most messages in one `send` call.
pub const BATCH_MESSAGES_MAX: usize = 100;
/// Most conversations in one `pull` call.
pub const BATCH_PULLS_MAX: usize = 50;
/// Most message ids in one `get` call.
pub const GET_IDS_MAX: usize = 100;
/// Most messages or conversations on a page.
pub const PAGE_ITEMS_MAX: u32 = 100;
/// Messages on a `pull` page and conversations on a list page when the caller names no number.
pub const PAGE_ITEMS_DEFAULT: u32 = 20;
/// Messages on a `sync` page when the caller names no number: a device wants to catch up.
pub const SYNC_ITEMS_DEFAULT: u32 = 100;
/// Bytes of content after which the pages of one call are cut short (they then say `hasMore`), so
/// that 100 largest messages do not have to fit into one answer. On each page one always fits.
pub const PAGE_CONTENT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most members of a conversation.
pub const MEMBERS_MAX: usize = 100_000;
/// Most members named in one `create` or `members` call: bounds the work of one request.
pub const MEMBERS_PER_CALL_MAX: usize = 10_000;
/// Longest `lastMsg.summary` and `replyTo.preview`, in characters; longer texts are cut there.
pub const SUMMARY_CHARS_MAX: usize = 100;
/// Longest conversation-list cursor, in characters: a decimal 64-bit number and a name.
pub const LIST_CURSOR_CHARS_MAX: usize = 20 + 1 + NAME_CHARS_MAX;
/// Longest cursor of `sync/global`, in characters: an epoch; now and as the walk began a decimal 64-bit number,
/// and for each of the 64 servers a store can have one and a decimal 32-bit number; and one of the walk.
pub const GLOBAL_CURSOR_CHARS_MAX: usize = EPOCH_CHARS_MAX + 3 * 21 + 2 * 64 * (21 + 11);
/// Changed conversations in one answer of `sync/global` when the caller names no number.
pub const GLOBAL_ITEMS_DEFAULT: u32 = 100;
/// Longest cursor of the feed, in characters: its kind, three decimal 63-bit numbers and a name.
pub const FEED_CURSOR_CHARS_MAX: usize = 1 + 3 * (1 + 19) + 1 + NAME_CHARS_MAX;
/// Events in one part of the feed when the caller names no number: an index wants to catch up.
pub const FEED_EVENTS_DEFAULT: u32 = PAGE_ITEMS_MAX;
/// Conversations that one part of the feed walks over, where few of them have anything.
pub const FEED_CONVERSATIONS_MAX: usize = 100;
/// Messages, of other tenants for the most part, that one part of the feed looks at: some milliseconds of a
/// database's time.
pub const FEED_SCAN_MAX: u64 = 5_000;
/// Longest cursor of an export, in characters: a name, a decimal 63-bit number and a `clientMsgId`.
pub const EXPORT_CURSOR_CHARS_MAX: usize = NAME_CHARS_MAX + 1 + 19 + 1 + CLIENT_MSG_ID_CHARS_MAX;
/// Conversations of the tenant that one part of an export asks for what a user has sent: one look into an index each.
pub const EXPORT_CONVERSATIONS_MAX: usize = 200;
/// Hidden messages of a user that one part of an export names, or all of one conversation.
pub const EXPORT_HIDDEN_MAX: usize = 10_000;
/// Cold segments that one part of an export or an erasure looks through for what a user has sent: each is unpacked.
pub const EXPORT_SEGMENTS_MAX: usize = 8;
/// Conversations from which one part of an erasure takes something: a statement and a wait for the disk each.
pub const ERASE_CONVERSATIONS_MAX: usize = 50;
/// Messages of which one part of an erasure takes the content: some milliseconds of a statement.
pub const ERASE_MESSAGES_MAX: usize = 500;
/// Conversations in one answer of `sync/digest` when the caller names no number.
pub const DIGEST_ITEMS_DEFAULT: u32 = 50;
/// Newest messages of each conversation in a digest when the caller names no number.
pub const DIGEST_LATEST_DEFAULT: u32 = 1;
/// Most newest messages of each conversation in a digest: more is a page.
pub const DIGEST_LATEST_MAX: u32 = 5;
/// Most members of a conversation of which each is told of every message; those of larger ones look it
/// up, so that a message to them costs the same whatever their number.
pub const INDEX_MEMBERS_MAX: u64 = 500;
/// How precisely `lastSeen` of a device is kept, in milliseconds: a device that asks again and again does
/// not write each time.
pub const DEVICE_SEEN_STEP_MS: u64 = 10_000;
/// Most devices of a user: registering another one forgets the one that was seen longest ago.
pub const DEVICES_MAX: usize = 100;
/// Offline messages at which a user becomes due for a push, unless configured.
pub const PUSH_MESSAGES_DEFAULT: u64 = 5;
/// How long an offline message waits until its user becomes due for a push, in milliseconds, unless
/// configured.
pub const PUSH_WAIT_MS_DEFAULT: u64 = 300_000;
/// How long after the last sync of any device a user is offline, in milliseconds, unless configured.
pub const PUSH_OFFLINE_MS_DEFAULT: u64 = 60_000;
/// How long a push worker has a user to itself, in milliseconds; not confirmed until then, the user is
/// given out again.
pub const PUSH_LEASE_MS: u64 = 60_000;
/// Users in one answer of `push/due` when the caller names no number.
pub const PUSH_DUE_DEFAULT: u32 = 100;
/// Most leases one `push/due` call may confirm.
pub const PUSH_CONFIRM_MAX: usize = 1_000;
/// Longest lease of `push/due` a request may name, in characters: leases are names that the store makes.
pub const LEASE_ID_CHARS_MAX: usize = 200;
/// Newest messages shown in a push.
pub const PUSH_PREVIEW_MAX: usize = 3;
/// Conversations of one user that a push looks at: the newest; more do not make it more urgent.
pub const PUSH_CONVERSATIONS_MAX: usize = 50;
/// How long a sender can take a message back, in milliseconds, unless configured: two minutes.
pub const RECALL_MS_DEFAULT: u64 = 120_000;
/// How long a sender can edit a message, in milliseconds, unless configured: a day. 0: never.
pub const EDIT_MS_DEFAULT: u64 = 86_400_000;
/// Most edits of one message: each former version is kept.
pub const EDITS_MAX: usize = 100;
/// Most messages that are deleted by one call.
pub const DELETE_IDS_MAX: usize = 100;
/// Most messages that a user hides from oneself by one call: as many as are deleted by one.
pub const HIDE_IDS_MAX: usize = DELETE_IDS_MAX;
/// Most messages that a user has hidden in one conversation, about: every page steps over them. Calls at once may
/// each bring it to this number.
pub const HIDDEN_MAX: u64 = 10_000;
/// Messages that are looked at, where they are fast to read and again where they are not, for the last one of a
/// conversation that a user has not hidden: a list shows none beyond.
pub const LAST_LOOK_MAX: u64 = 100;
/// Longest reason of a revision, in characters: a line for who reads the trace.
pub const REASON_CHARS_MAX: usize = 200;
/// Most conversations that a user names as muted in one call.
pub const MUTED_MAX: usize = 1_000;
/// Shortest HS256 secret, in bytes: RFC 7518, section 3.2, asks for the size of the hash.
pub const HS256_SECRET_BYTES_MIN: usize = 32;
/// Longest token, in bytes: what fits a header beside others; ours have about 250.
pub const TOKEN_BYTES_MAX: usize = 4_096;
/// How far a client's clock may be off when `exp` and `nbf` are checked, in seconds.
pub const TOKEN_LEEWAY_SECONDS: u64 = 5;
/// How long one `archive/run` may take when the caller names no bound, in milliseconds.
pub const RUN_MS_DEFAULT: u64 = 10_000;
/// Longest bound a caller may name for `archive/run`, in milliseconds: below the hosts' request
/// deadline of 30 s.
pub const RUN_MS_MAX: u64 = 25_000;
/// Longest time for which a conversation can keep its messages by a setting of its own, in milliseconds: a hundred
/// years of 365 days, longer than ids are given. 0 is for ever.
pub const RETENTION_MS_MAX: u64 = 3_153_600_000_000;
/// Conversations looked at by one step of the expiry task, and purged by one statement: bounds both.
pub const EXPIRE_CONVERSATIONS_MAX: usize = 100;
/// Messages deleted by one statement of the expiry task: bounds how long writers wait for it.
pub const EXPIRE_ROWS_MAX: usize = 1_000;
/// How old messages are when they may move to cold segments, in milliseconds, unless configured: 90 days.
pub const TIER_AFTER_MS_DEFAULT: u64 = 90 * 24 * 60 * 60 * 1_000;
/// Fewest messages that move to cold segments together, unless they have waited for very long: segments of few
/// save nothing.
pub const TIER_MESSAGES_MIN: usize = 100;
/// What a client is asked to wait after a busy store refused it, in milliseconds.
pub const RETRY_AFTER_MS: u64 = 1_000;
/// Longest `detail` of a problem document, in characters: it may quote what the client sent.
pub const PROBLEM_DETAIL_CHARS_MAX: usize = 300;
/// Longest `field` of a problem document, in characters: the name of an unknown field is the
/// client's.
pub const PROBLEM_FIELD_CHARS_MAX: usize = 200;
/// Latest time a request may name, in milliseconds since 1970: the last of the year 9999, as RFC
/// 3339 has four digits for a year.
pub const TIME_MS_MAX: u64 = 253_402_300_799_999;
/// Longest epoch a request may name, in characters: epochs are names that the store makes.
pub const EPOCH_CHARS_MAX: usize = 64;

/// Refuses a list of no or too many items.
pub fn check_count(field: &'static str, count: usize, count_max: usize) -> Result<()> {
    if (1..=count_max).contains(&count) {
        return Ok(());
    }
    Err(Error::invalid(field, format!("must have 1 to {count_max} items")))
}
