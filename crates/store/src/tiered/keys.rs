//! Every key of the hot store, its type and its life.
//!
//! | key | type | holds | life |
//! | --- | --- | --- | --- |
//! | `im:node` | string | which server of how many this is | for ever |
//! | `im:adoption` | hash `run`, `token` | an adoption under way | until it is done |
//! | `im:run` | hash | what the last run of the upkeep did | for ever |
//! | `im:changes` | string | number of the server's last change | for ever |
//! | `im:life` | string | names the time since the server last lost something: numbers of changes given before may come again | for ever |
//! | `im:untold` | set | conversations of which users of other servers could not be told, and `tenant/conversation/user` for each such user who has left one | until they were |
//! | `im:{p}:clock` | hash `run`, `also`, `epoch`, `base`, `ms`, `n`, `db`, `doubt` | the last id given; `run`: the server's run under which that was verified, with a list of servers; `also`: the same with another list in use; `db`: position of the database that has the partition; `base`: the token that hot state carries to be trusted; after a loss `doubt`: when its markers can be relied on again | for ever |
//! | `im:{p}:log` | stream, field `v` | what SQL does not have yet, in order | entries leave when SQL has them |
//! | `im:{p}:waiting` | hash | tenant → messages that wait in the log | field goes at 0 |
//! | `im:{p}:lease` | string | who drains the log | [`super::limits::LEASE_MS`] |
//! | `im:{p}:dead` | stream | entries that SQL cannot take, with the error | until replayed or dropped |
//! | `im:{p}:h:<c>` | hash | the conversation's head | until idle and in SQL |
//! | `im:{p}:g:<c>` | hash | user → role, join floor (ms, low), read position (ms, low), its countable and own, muted, numbers of the last change of the read position and of its own settings | with the head |
//! | `im:{p}:o:<c>` | hash | user → countable messages sent since joining | with the head |
//! | `im:{p}:m:<c>` | stream by message id, fields `v` and, of a reply, `r` | recent messages | trimmed, never above what SQL has |
//! | `im:{p}:k:<c>` | hash | user/device → position and its `seq` | with the head |
//! | `im:{p}:r:<c>` | hash | message id → of its last revision the control message, that one's `seq`, the stamp, the action, and how many edits there were: hot messages that were revised | with the message, until SQL has it |
//! | `im:{p}:e:<c>` | hash | message id → what it says since it was edited | as above |
//! | `im:{p}:x:<c>` | sorted set | messages that were taken back, by their place among those that count; not those that all members had read when it was made | with the head |
//! | `im:{p}:y:<c>` | sorted set, all of score 0 | what users have hidden: `user/c/id`, of what would be unread for the user, and `user/s/id`; hot messages, the last one, what is yet to reach SQL, and what is unread | with the head |
//! | `im:{p}:d:<c>/<sender>/<clientMsgId>` | string | idempotency marker: ms, low, `seq`, fingerprint | as configured, a day |
//! | `im:{p}:a:<c>` | string | the conversation that is a pair's chat instead of `<c>` | for ever |
//! | `im:{p}:t:<c>` | hash `life`, `said`, `width/<user>`, `member/<user>`, `other/<user>` | number of the last change of each kind that this server was told of a conversation of another one | a day |
//! | `im:{p}:u:<tenant>/<user>` | sorted set | the user's conversations by the number of the change with which something was said last (infinite: looked up); complete if it holds `#<run>` | [`super::limits::INDEX_LIFE_S`] |
//! | `im:{p}:v:<tenant>/<user>` | sorted set | conversations by the number of the last other change; also those the user has left | with the index |
//! | `im:{p}:s:<u>` | hash `base`, `seen`, `show`, and `d:<device>` each | the user's own state, trusted as a head is: when any device last synced; whether a push may show what was said; for each device when it last synced and when SQL was last told, both 0 of one that was forgotten | [`super::limits::INDEX_LIFE_S`] after a device last synced |
//! | `im:{p}:n:<u>` | hash | what waits for a push of the user, what is leased, what the last one covered (see `wake.lua`) | until a device syncs, or [`super::limits::INDEX_LIFE_S`] |
//! | `im:{p}:later` | hash | `<c>` → its `cid` and the messages that its many members are yet to be told of (see `defer.lua`) | field goes when they are |
//! | `im:later` | sorted set, `partition/<c>` by time (ms since 1970) | when the members of such conversations of this server are told next | with the field |
//! | `im:due:<tenant>` | sorted set, `partition/user` by time (ms since 1970) | when the tenant's users on this server are due for a push, or their lease runs out | users go with what waits for them |
//!
//! `<c>` is `tenant/conversation`, `<u>` is `tenant/user`; no name can hold a slash. `{p}` is the partition,
//! `0` to `255`, in braces.

use im_domain::partition::partition_of;
use im_domain::{ConversationId, Tenant, UserId};
use sha1::{Digest, Sha1};

pub const NODE: &str = "im:node";
pub const ADOPTION: &str = "im:adoption";
pub const LAST_RUN: &str = "im:run";
pub const UNTOLD: &str = "im:untold";
pub const LATER: &str = "im:later";

/// A conversation's place in the hot store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub partition: u8,
    /// `tenant/conversation`.
    pub name: String,
}

impl Place {
    pub fn of(tenant: &Tenant, conversation: &ConversationId) -> Self {
        let partition = partition_of(tenant, conversation);
        Self { partition, name: format!("{tenant}/{conversation}") }
    }

    /// The place of a name as it stands in the log.
    pub fn named(name: &str) -> Option<Self> {
        let (tenant, conversation) = name.split_once('/')?;
        let tenant = Tenant::parse(tenant).ok()?;
        Some(Self::of(&tenant, &ConversationId::parse(conversation).ok()?))
    }

    /// The place that entries about a user carry: its name is `tenant/user`.
    pub fn of_user(name: &str) -> Option<Self> {
        let (tenant, user) = name.split_once('/')?;
        let UserPlace { partition, name } =
            UserPlace::of(&Tenant::parse(tenant).ok()?, &UserId::parse(user).ok()?);
        Some(Self { partition, name })
    }

    pub fn tenant(&self) -> &str {
        self.name.split_once('/').map_or("", |(tenant, _)| tenant)
    }

    pub fn conversation(&self) -> &str {
        self.name.split_once('/').map_or("", |(_, conversation)| conversation)
    }

    fn key(&self, kind: char) -> String {
        format!("im:{{{}}}:{kind}:{}", self.partition, self.name)
    }

    pub fn clock(&self) -> String {
        clock(self.partition)
    }

    pub fn log(&self) -> String {
        log(self.partition)
    }

    pub fn head(&self) -> String {
        self.key('h')
    }

    pub fn members(&self) -> String {
        self.key('g')
    }

    pub fn own(&self) -> String {
        self.key('o')
    }

    pub fn messages(&self) -> String {
        self.key('m')
    }

    pub fn positions(&self) -> String {
        self.key('k')
    }

    /// The conversation's own keys, the head first.
    pub fn state(&self) -> [String; 5] {
        [self.head(), self.members(), self.messages(), self.own(), self.positions()]
    }

    /// What scripts that write to the conversation are given first: clock, log, [`Self::state`].
    pub fn written(&self) -> Vec<String> {
        [self.clock(), self.log()].into_iter().chain(self.state()).collect()
    }

    pub fn told(&self) -> String {
        self.key('t')
    }

    pub fn alias(&self) -> String {
        self.key('a')
    }

    pub fn marker(&self, sender: &str, client_msg_id: &str) -> String {
        format!("{}/{sender}/{client_msg_id}", self.key('d'))
    }
}

/// A user's place in the hot store: the partition whose server and database keep what is the user's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UserPlace {
    pub partition: u8,
    /// `tenant/user`.
    pub name: String,
}

impl UserPlace {
    pub fn of(tenant: &Tenant, user: &UserId) -> Self {
        Self { partition: partition_of_user(tenant, user), name: format!("{tenant}/{user}") }
    }

    fn key(&self, kind: char) -> String {
        of_partition(self.partition, &format!("{kind}:{}", self.name))
    }

    pub fn clock(&self) -> String {
        clock(self.partition)
    }

    pub fn log(&self) -> String {
        log(self.partition)
    }

    pub fn state(&self) -> String {
        self.key('s')
    }

    pub fn waiting(&self) -> String {
        self.key('n')
    }
}

/// Which of a tenant's users on a server are due, and when.
pub fn due(tenant: &str) -> String {
    format!("im:due:{tenant}")
}

/// How [`due`] names a user.
pub fn due_member(partition: u8, user: &UserId) -> String {
    format!("{partition}/{user}")
}

pub fn clock(partition: u8) -> String {
    of_partition(partition, "clock")
}

pub fn log(partition: u8) -> String {
    of_partition(partition, "log")
}

pub fn lease(partition: u8) -> String {
    of_partition(partition, "lease")
}

pub fn waiting(partition: u8) -> String {
    of_partition(partition, "waiting")
}

pub fn dead(partition: u8) -> String {
    of_partition(partition, "dead")
}

pub fn later(partition: u8) -> String {
    of_partition(partition, "later")
}

fn of_partition(partition: u8, what: &str) -> String {
    format!("im:{{{partition}}}:{what}")
}

/// The partition whose server keeps a user's index. Scripts know it too, and their only hash is SHA-1.
pub fn partition_of_user(tenant: &Tenant, user: &UserId) -> u8 {
    Sha1::digest(format!("{tenant}/{user}")).first().copied().unwrap_or_default()
}

/// A user's index, and the other changes that concern the user.
pub fn index(tenant: &Tenant, user: &UserId) -> [String; 2] {
    ['u', 'v'].map(|kind| of_partition(partition_of_user(tenant, user), &format!("{kind}:{tenant}/{user}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names can hold colons, and a clientMsgId almost anything.
    #[test]
    fn no_two_senders_share_a_marker() {
        let place = Place::named("t/c").unwrap();
        let markers = [("a", "b:1"), ("a:b", "1"), ("a", "b/1")].map(|(sender, id)| place.marker(sender, id));
        assert!(markers[0] != markers[1] && markers[1] != markers[2] && markers[0] != markers[2]);
    }

    #[test]
    fn a_place_comes_back_from_its_name() {
        let place = Place::of(&Tenant::parse("t").unwrap(), &ConversationId::parse("c:1").unwrap());
        assert_eq!(Place::named(&place.name), Some(place.clone()));
        assert_eq!((place.tenant(), place.conversation()), ("t", "c:1"));
        assert_eq!(place.head(), format!("im:{{{}}}:h:t/c:1", place.partition));
        assert_eq!(Place::named("t"), None);
        assert_eq!(Place::named("t/a/b"), None);
    }
}
