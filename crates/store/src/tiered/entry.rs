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
            return Self::parse(id, lines.0).map(|entry| Self { stamp, ..entry });
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
            _ => return None,
        };
        (stamp.partition() == place.partition).then(|| Self { id: id.to_owned(), stamp, place, body })
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
            // What is kept of users depends on nothing else.
            Body::Message(_) | Body::Position(_) | Body::Read(_) | Body::User(_) => Class::Rows,
            Body::Conversation(_) => Class::Conversations,
            Body::Forgotten(_) => Class::Forgotten,
            Body::Hidden(_) => Class::Hidden,
            Body::Members(_) | Body::Revision(_) | Body::Alias(_) => Class::Single,
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
    matches!(kind, "d" | "x" | "w")
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
    })
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An entry about the conversation `t/c`, whose partition its stamp has to carry.
    fn parse(kind: &str, rest: &str) -> Option<Entry> {
        let place = Place::named("t/c").unwrap();
        let low = u64::from(place.partition) << 14;
        Entry::parse("1-0", format!("{kind}\n5\n{low}\nt/c\n{rest}").as_bytes())
    }

    #[test]
    fn a_change_of_members_comes_to_its_end() {
        let lines = "7-1\n3\n99\n5\n+ a 6-2 4\n+ b 6-2 4\n- b\n- x\n= a 2\n= y 1\n";
        let Some(Body::Members(change)) = parse("g", lines).map(|entry| entry.body) else {
            panic!("not a change")
        };
        let added: Vec<_> = change.added.iter().map(|joiner| (joiner.user.as_str(), joiner.role)).collect();
        assert_eq!(added, [("a", 2)]);
        assert_eq!(change.removed.iter().map(UserId::as_str).collect::<Vec<_>>(), ["x"]);
        assert_eq!(change.roles, [(UserId::parse("y").unwrap(), 1)]);
        assert_eq!((change.members, change.time_ms), (3, 99));
    }

    #[test]
    fn each_kind_is_read() {
        assert_eq!(parse("c", "e\n2\n0\n5\na 1\nb 3\n").unwrap().class(), Class::Conversations);
        assert_eq!(parse("p", "7-1\nu\nd\n6-2\n4\n").unwrap().class(), Class::Rows);
        assert_eq!(parse("k", "7-1\nu\n6-2\n4\n1\n5\n").unwrap().class(), Class::Rows);
        assert_eq!(parse("g", "7-1\n3\n99\n5\n! a 1\n~ 1\n% -\n# 1 b 99\n").unwrap().class(), Class::Single);
        assert_eq!(parse("a", "other\n").unwrap().class(), Class::Single);
        assert_eq!(parse("f", "7-1\nu\nd\n").unwrap().class(), Class::Forgotten);
        let Some(Body::Hidden(hidden)) = parse("h", "7-1\nu\n5\n6-2 1\n8-0 0\n").map(|entry| entry.body)
        else {
            panic!("nothing hidden")
        };
        assert_eq!(hidden.messages, [(stamp::join(6, 2), true), (stamp::join(8, 0), false)]);
        assert!(parse("z", "").is_none());
    }

    #[test]
    fn an_edit_has_a_reason_and_a_content_of_any_lines() {
        let common = "7-1\n6-2\n2\n8-1\n0\na\na\n3\n99\n";
        let Some(Body::Revision(edit)) =
            parse("e", &format!("{common}5\nwhy\n?one\ntwo\n")).map(|entry| entry.body)
        else {
            panic!("not a revision")
        };
        assert_eq!((edit.reason.as_str(), edit.content.as_str()), ("why\n?", "one\ntwo\n"));
        assert_eq!(parse("e", &format!("{common}0\n")).unwrap().class(), Class::Single);
        assert!(parse("e", &format!("{common}9\nshort")).is_none());
    }

    #[test]
    fn what_is_kept_of_a_user_is_in_the_log_of_the_users_own_partition() {
        let place = Place::of_user("t/u").unwrap();
        let low = u64::from(place.partition) << 14;
        for (kind, rest) in [("d", "phone\n99\n"), ("x", "phone\n"), ("w", "0\n")] {
            let value = |low: u64| format!("{kind}\n5\n{low}\nt/u\n{rest}");
            assert_eq!(Entry::parse("1-0", value(low).as_bytes()).unwrap().class(), Class::Rows);
            assert!(Entry::parse("1-0", value(low ^ 1 << 14).as_bytes()).is_none());
            let subject = Entry::subject(value(low).as_bytes()).unwrap();
            assert_eq!((subject.tenant.as_str(), subject.conversation), ("t", None));
        }
    }

    #[test]
    fn an_entry_in_the_log_of_another_partition_is_none() {
        assert!(Entry::parse("1-0", b"a\n5\n0\nt/c\nother\n").is_none());
    }

    #[test]
    fn an_entry_once_more_keeps_what_it_was_made_under() {
        let place = Place::named("t/c").unwrap();
        let low = u64::from(place.partition) << 14;
        let value = format!("r\n9\n{low}\nc\n5\n{low}\nt/c\ne\n2\n0\n5\na 1\n");
        let entry = Entry::parse("1-0", value.as_bytes()).unwrap();
        let Body::Conversation(made) = entry.body else { panic!("not a conversation") };
        assert_eq!((stamp::ms(entry.stamp), stamp::ms(made.cid)), (9, 5));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_and_never_a_crash(bytes: Vec<u8>, kind in "[mpkcgveafdxwh]") {
            let _entry = Entry::parse("1-0", &bytes);
            let _entry = parse(&kind, &String::from_utf8_lossy(&bytes));
        }
    }
}
