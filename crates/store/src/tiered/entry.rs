//! Entries of a partition's log: what SQL does not have yet.
//!
//! A letter and the entry's stamp, then what the kind has, each part on a line of its own. The record of
//! a message comes last and is taken as it is.
//!
//! - `m ms low conversation cid epoch seq countable record`: a message
//! - `p ms low conversation cid user device stamp seq`: a device's position
//! - `c ms low conversation epoch kind history version` and a line `user role` for each member: a conversation
//! - `k ms low conversation cid user stamp countable own version`: what a user has read
//! - `g ms low conversation cid members time version` and a line `+ user floor countable`, `- user`, `= user role`,
//!   `! user muted`, `~ history`, `% retention` (ms, or `-`) or `# hold user time` (ms since 1970) for each change: a
//!   change of members or settings
//! - `v ms low conversation cid message action control countable sender user role time` and a reason: a message was
//!   recalled or deleted
//! - `e`, the same up to the time, `reason-bytes`, a reason and the content that it has now: a message was edited
//! - `h ms low conversation cid user version` and a line `stamp 0|1` for each message: the user has hidden them; 1: it
//!   would be unread
//! - `a ms low own-id conversation`: a pair's chat has an id of its own
//! - `f ms low conversation cid user device`: the device has no position any more
//! - `d ms low user device time`: a device of a user has synced (ms since 1970)
//! - `x ms low user device`: a device was forgotten
//! - `w ms low user 0|1`: whether a push may show what was said
//! - `y ms low user`: the user was erased
//! - `z ms low conversation cid user by leaves` and a line with its stamp for each message: these messages of the user were
//!   erased, and if the user leaves (1), all else there is of the user in the conversation
//! - `r ms low`, then a whole entry as above: that entry once more, from the dead letters

use super::keys::Place;
use super::record::Record;
use super::stamp;
use im_domain::retention::KeepFor;
use im_domain::{ConversationId, MsgId, UserId};

pub(super) struct Entry {
    /// Its id in the stream.
    pub id: String,
    /// Rises within a log; SQL knows up to which it has the entries.
    pub stamp: MsgId,
    /// The conversation, or the user that it is about.
    pub place: Place,
    pub body: Body,
}

pub(super) enum Body {
    Message(Box<Message>),
    Position(Position),
    Read(Read),
    Conversation(Made),
    Members(Change),
    Revision(Revision),
    Hidden(Hidden),
    Alias(String),
    Forgotten(Forgotten),
    Erased(Erased),
    User(UserChange),
}

pub(super) struct Message {
    pub msg_id: MsgId,
    pub cid: MsgId,
    pub epoch: String,
    pub seq: u64,
    pub countable: u64,
    pub record: Record,
}

pub(super) struct Position {
    pub cid: MsgId,
    pub user: String,
    pub device: String,
    pub msg_id: MsgId,
    pub seq: u64,
}

/// A user's read position, with the countable messages up to it, and the user's own among them.
pub(super) struct Read {
    pub cid: MsgId,
    pub user: String,
    pub msg_id: MsgId,
    pub countable: u64,
    pub own: u64,
    /// Number of the change.
    pub version: u64,
}

/// A message was revised.
pub(super) struct Revision {
    pub cid: MsgId,
    pub msg_id: MsgId,
    pub action: u64,
    /// The control message that tells of it.
    pub control: MsgId,
    /// The message's place among those that count; 0: it did not count.
    pub countable: u64,
    pub sender: String,
    /// Who revised it: the user, and the role (0: a privileged actor).
    pub user: String,
    pub role: u64,
    pub time_ms: u64,
    pub reason: String,
    /// What an edit gave.
    pub content: String,
    /// It was a dead letter.
    pub is_late: bool,
}

/// Messages that a user has hidden, each with whether it would be unread for the user.
pub(super) struct Hidden {
    pub cid: MsgId,
    pub user: String,
    /// Number of the change.
    pub version: u64,
    pub messages: Vec<(MsgId, bool)>,
}

/// A device whose position is to go.
pub(super) struct Forgotten {
    pub cid: MsgId,
    pub user: String,
    pub device: String,
}

/// Messages of a user that were erased.
pub(super) struct Erased {
    pub cid: MsgId,
    pub user: String,
    /// Who erases.
    pub by: String,
    /// With them all else there is of the user in the conversation.
    pub leaves: bool,
    pub msg_ids: Vec<MsgId>,
}

/// What has changed of what is kept of a user.
pub(super) enum UserChange {
    /// A device has synced, at so many milliseconds since 1970.
    Seen {
        device: String,
        at_ms: u64,
    },
    Gone {
        device: String,
    },
    ShowContent(bool),
    Erased,
}

pub(super) struct Made {
    pub cid: MsgId,
    pub epoch: String,
    pub kind: u64,
    pub history: u64,
    /// Number of the change.
    pub version: u64,
    pub members: Vec<(UserId, u64)>,
}

/// What a change of members comes to in the end.
#[derive(Default)]
pub(super) struct Change {
    pub cid: MsgId,
    pub members: u64,
    pub time_ms: u64,
    /// Number of the change.
    pub version: u64,
    pub added: Vec<Joiner>,
    pub removed: Vec<UserId>,
    pub roles: Vec<(UserId, u64)>,
    pub muted: Option<(UserId, u64)>,
    pub history: Option<u64>,
    pub keep_for: Option<KeepFor>,
    pub hold: Option<Hold>,
}

/// A conversation came under legal hold, or stands under it no more.
pub(super) struct Hold {
    pub held: bool,
    /// Who said so, and when, in milliseconds since 1970.
    pub user: UserId,
    pub time_ms: u64,
}

pub(super) struct Joiner {
    pub user: UserId,
    pub role: u64,
    pub floor: MsgId,
    pub countable: u64,
}

impl Entry {
    /// None when the value is not that of an entry.
    pub fn parse(id: &str, value: &[u8]) -> Option<Self> {
        let mut lines = Lines(value);
        let kind = lines.text()?;
        let stamp = stamp::join(lines.number()?, lines.number()?);
        if kind == "r" {
            // What is within was made under its own stamp, and is stored under this one.
            return Self::parse(id, lines.0).map(|entry| entry.put_back(stamp));
        }
        let name = lines.text()?;
        let place = if is_of_user(kind) { Place::of_user(name)? } else { Place::named(name)? };
        let body = match kind {
            "m" => Body::Message(Box::new(Message {
                msg_id: stamp,
                cid: lines.stamp()?,
                epoch: lines.text()?.to_owned(),
                seq: lines.number()?,
                countable: lines.number()?,
                record: Record::decode(lines.0)?,
            })),
            "p" => Body::Position(Position {
                cid: lines.stamp()?,
                user: lines.text()?.to_owned(),
                device: lines.text()?.to_owned(),
                msg_id: lines.stamp()?,
                seq: lines.number()?,
            }),
            "k" => Body::Read(Read {
                cid: lines.stamp()?,
                user: lines.text()?.to_owned(),
                msg_id: lines.stamp()?,
                countable: lines.number()?,
                own: lines.number()?,
                version: lines.number()?,
            }),
            "c" => Body::Conversation(made(&mut lines, stamp)?),
            "g" => Body::Members(change(&mut lines)?),
            "v" => {
                let revision = revision(&mut lines)?;
                Body::Revision(Revision { reason: lines.rest()?, ..revision })
            }
            "e" => {
                let (revision, length) = (revision(&mut lines)?, lines.number()?);
                let reason = lines.bytes(length)?;
                Body::Revision(Revision { reason, content: lines.rest()?, ..revision })
            }
            "h" => Body::Hidden(hidden(&mut lines)?),
            "a" => Body::Alias(lines.text()?.to_owned()),
            "f" => Body::Forgotten(Forgotten {
                cid: lines.stamp()?,
                user: lines.text()?.to_owned(),
                device: lines.text()?.to_owned(),
            }),
            "d" => {
                let device = lines.text()?.to_owned();
                Body::User(UserChange::Seen { device, at_ms: lines.number()? })
            }
            "x" => Body::User(UserChange::Gone { device: lines.text()?.to_owned() }),
            "w" => Body::User(UserChange::ShowContent(lines.number()? > 0)),
            "y" => Body::User(UserChange::Erased),
            "z" => Body::Erased(erased(&mut lines)?),
            _ => return None,
        };
        (stamp.partition() == place.partition).then(|| Self { id: id.to_owned(), stamp, place, body })
    }

    fn put_back(mut self, stamp: MsgId) -> Self {
        if let Body::Revision(revision) = &mut self.body {
            revision.is_late = true;
        }
        Self { stamp, ..self }
    }

    /// What an entry is about, by the first lines of its value.
    pub fn subject(value: &[u8]) -> Option<Subject> {
        let mut lines = Lines(value);
        let kind = lines.text()?;
        let stamp = stamp::join(lines.number()?, lines.number()?);
        if kind == "r" {
            return Self::subject(lines.0);
        }
        let name = lines.text()?;
        if is_of_user(kind) {
            let tenant = Place::of_user(name)?.tenant().to_owned();
            return Some(Subject { tenant, conversation: None, msg_id: None });
        }
        let place = Place::named(name)?;
        Some(Subject {
            tenant: place.tenant().to_owned(),
            conversation: ConversationId::parse(place.conversation()).ok(),
            msg_id: (kind == "m").then_some(stamp),
        })
    }

    /// The message's id, if it is a message.
    pub fn msg_id(&self) -> Option<MsgId> {
        match &self.body {
            Body::Message(message) => Some(message.msg_id),
            _ => None,
        }
    }

    /// Which entries one statement can store together.
    pub fn class(&self) -> Class {
        match self.body {
            Body::User(UserChange::Erased) => Class::Single,
            // What is kept of users depends on nothing else.
            Body::Message(_) | Body::Position(_) | Body::Read(_) | Body::User(_) => Class::Rows,
            Body::Conversation(_) => Class::Conversations,
            Body::Forgotten(_) => Class::Forgotten,
            Body::Hidden(_) => Class::Hidden,
            Body::Members(_) | Body::Revision(_) | Body::Alias(_) | Body::Erased(_) => Class::Single,
        }
    }
}

/// What an entry is about: a conversation and perhaps a message, or a user.
pub(super) struct Subject {
    pub tenant: String,
    pub conversation: Option<ConversationId>,
    pub msg_id: Option<MsgId>,
}

fn is_of_user(kind: &str) -> bool {
    matches!(kind, "d" | "x" | "w" | "y")
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Rows,
    Conversations,
    Forgotten,
    Hidden,
    /// Each by itself.
    Single,
}

fn made(lines: &mut Lines<'_>, cid: MsgId) -> Option<Made> {
    let epoch = lines.text()?.to_owned();
    let (kind, history, version) = (lines.number()?, lines.number()?, lines.number()?);
    let mut members = Vec::new();
    while !lines.0.is_empty() {
        let (user, role) = lines.text()?.split_once(' ')?;
        members.push((UserId::parse(user).ok()?, role.parse().ok()?));
    }
    Some(Made { cid, epoch, kind, history, version, members })
}

fn revision(lines: &mut Lines<'_>) -> Option<Revision> {
    Some(Revision {
        cid: lines.stamp()?,
        msg_id: lines.stamp()?,
        action: lines.number()?,
        control: lines.stamp()?,
        countable: lines.number()?,
        sender: lines.text()?.to_owned(),
        user: lines.text()?.to_owned(),
        role: lines.number()?,
        time_ms: lines.number()?,
        reason: String::new(),
        content: String::new(),
        is_late: false,
    })
}

fn erased(lines: &mut Lines<'_>) -> Option<Erased> {
    let cid = lines.stamp()?;
    let (user, by) = (lines.text()?.to_owned(), lines.text()?.to_owned());
    let leaves = lines.number()? > 0;
    let mut msg_ids = Vec::new();
    while !lines.0.is_empty() {
        msg_ids.push(lines.stamp()?);
    }
    Some(Erased { cid, user, by, leaves, msg_ids })
}

fn hidden(lines: &mut Lines<'_>) -> Option<Hidden> {
    let (cid, user, version) = (lines.stamp()?, lines.text()?.to_owned(), lines.number()?);
    let mut messages = Vec::new();
    while !lines.0.is_empty() {
        let (id, counts) = lines.text()?.split_once(' ')?;
        messages.push((stamp::parse(id)?, counts == "1"));
    }
    Some(Hidden { cid, user, version, messages })
}

fn change(lines: &mut Lines<'_>) -> Option<Change> {
    let mut change = Change {
        cid: lines.stamp()?,
        members: lines.number()?,
        time_ms: lines.number()?,
        version: lines.number()?,
        ..Change::default()
    };
    while !lines.0.is_empty() {
        let words: Vec<&str> = lines.text()?.split(' ').collect();
        match words[..] {
            ["+", user, floor, countable] => change.added.push(Joiner {
                user: UserId::parse(user).ok()?,
                role: im_domain::conversation::Role::Member.number().unsigned_abs(),
                floor: stamp::parse(floor)?,
                countable: countable.parse().ok()?,
            }),
            ["-", user] => change.remove(UserId::parse(user).ok()?),
            ["!", user, muted] => change.muted = Some((UserId::parse(user).ok()?, muted.parse().ok()?)),
            ["~", history] => change.history = Some(history.parse().ok()?),
            ["%", "-"] => change.keep_for = Some(KeepFor::Policy),
            ["%", ms] => change.keep_for = Some(KeepFor::Ms(ms.parse().ok()?)),
            ["#", held, user, time_ms] => {
                let (user, time_ms) = (UserId::parse(user).ok()?, time_ms.parse().ok()?);
                change.hold = Some(Hold { held: held == "1", user, time_ms });
            }
            ["=", user, role] => change.set_role(UserId::parse(user).ok()?, role.parse().ok()?),
            _ => return None,
        }
    }
    Some(change)
}

impl Change {
    /// Who was added by the same change was no member before, and is none after it.
    fn remove(&mut self, user: UserId) {
        let before = self.added.len();
        self.added.retain(|joiner| joiner.user != user);
        if self.added.len() == before {
            self.removed.push(user);
        }
    }

    /// Whether it is news for all members: what one has muted is not, and of a hold nobody is told.
    pub fn is_common(&self) -> bool {
        let is_set = self.history.is_some() || self.keep_for.is_some();
        is_set || (self.muted.is_none() && self.hold.is_none())
    }

    fn set_role(&mut self, user: UserId, role: u64) {
        match self.added.iter_mut().find(|joiner| joiner.user == user) {
            Some(joiner) => joiner.role = role,
            None => self.roles.push((user, role)),
        }
    }
}

/// Lines from the front of an entry's value.
struct Lines<'a>(&'a [u8]);

impl<'a> Lines<'a> {
    fn text(&mut self) -> Option<&'a str> {
        let end = self.0.iter().position(|byte| *byte == b'\n')?;
        let (line, rest) = self.0.split_at_checked(end)?;
        self.0 = rest.get(1..)?;
        std::str::from_utf8(line).ok()
    }

    fn number(&mut self) -> Option<u64> {
        self.text()?.parse().ok()
    }

    fn stamp(&mut self) -> Option<MsgId> {
        stamp::parse(self.text()?)
    }

    /// So many bytes, as text.
    fn bytes(&mut self, length: u64) -> Option<String> {
        let (text, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    /// Everything that is left, as text.
    fn rest(&mut self) -> Option<String> {
        self.bytes(self.0.len() as u64)
    }
}

#[cfg(test)]
mod tests;
