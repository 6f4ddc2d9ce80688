//! Values of the domain that stand in JSON as strings, checked as they are read.

use im_domain::conversation::{ConversationKind, History, Role};
use im_domain::feed::EventKind;
use im_domain::global::ChangeKind;
use im_domain::limits::{CLIENT_MSG_ID_CHARS_MAX, NAME_CHARS_MAX};
use im_domain::message::{Ack, Action, Kind, QuoteStatus, Status};
use im_domain::page::{Direction, ResetReason};
use im_domain::revision::{Capacity, Origin};
use im_domain::upkeep::{DeadLetterAction, Task};
use im_domain::{ClientMsgId, ConversationId, DeviceId, Error, UserId};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A type with a spelling in the API.
pub trait Spelled: Sized {
    /// What the OpenAPI document calls it.
    const NAME: &'static str;

    /// The error says what is allowed.
    fn read(text: &str) -> Result<Self, String>;

    fn schema() -> Schema;
}

/// A [`Spelled`] value in a JSON string.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Text<T>(pub T);

impl<'de, T: Spelled> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<T: Spelled> Visitor<'_> for Reader<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
                T::read(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Reader(PhantomData)).map(Text)
    }
}

impl<T: Spelled> JsonSchema for Text<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

/// The domain's reason; the field is named by its place in the body.
fn reason(error: Error) -> String {
    match error {
        Error::Invalid { reason, .. } => reason,
        other => other.to_string(),
    }
}

/// What names may hold: the regular expressions of what the domain checks.
const NAME_PATTERN: &str = "^[A-Za-z0-9._:@-]+$";
const PRINTABLE_PATTERN: &str = r"^[^\u0000-\u001f\u007f-\u009f]+$";

macro_rules! names {
    ($($type:ident $pattern:ident $chars_max:expr),+ $(,)?) => {$(
        impl Spelled for $type {
            const NAME: &'static str = stringify!($type);

            fn read(text: &str) -> Result<Self, String> {
                Self::parse(text).map_err(reason)
            }

            fn schema() -> Schema {
                json_schema!({
                    "type": "string",
                    "pattern": $pattern,
                    "minLength": 1,
                    "maxLength": $chars_max,
                })
            }
        }
    )+};
}

names! {
    UserId NAME_PATTERN NAME_CHARS_MAX,
    DeviceId NAME_PATTERN NAME_CHARS_MAX,
    ConversationId NAME_PATTERN NAME_CHARS_MAX,
    ClientMsgId PRINTABLE_PATTERN CLIENT_MSG_ID_CHARS_MAX,
}

macro_rules! choices {
    ($($type:ident $name:literal),+ $(,)?) => {$(
        impl Spelled for $type {
            const NAME: &'static str = $name;

            fn read(text: &str) -> Result<Self, String> {
                Self::from_text(text).ok_or_else(|| one_of(Self::ALL.iter().map(|case| case.as_str())))
            }

            fn schema() -> Schema {
                let texts: Vec<_> = Self::ALL.iter().map(|case| case.as_str()).collect();
                json_schema!({ "type": "string", "enum": texts })
            }
        }
    )+};
}

choices! {
    Kind "MessageType",
    Status "MessageStatus",
    QuoteStatus "QuoteStatus",
    Ack "Ack",
    Action "Action",
    Origin "VersionOrigin",
    Capacity "Capacity",
    ConversationKind "ConversationType",
    History "History",
    Role "Role",
    Direction "Direction",
    ChangeKind "ChangeKind",
    ResetReason "ResetReason",
    Task "Task",
    DeadLetterAction "DeadLetterAction",
    EventKind "FeedEventKind",
}

pub fn one_of(texts: impl Iterator<Item = &'static str>) -> String {
    format!("must be one of {}", texts.collect::<Vec<_>>().join(", "))
}

/// A message type that clients may send.
pub struct Sendable(pub Kind);

impl Spelled for Sendable {
    const NAME: &'static str = "SendableType";

    fn read(text: &str) -> Result<Self, String> {
        let kind = Kind::from_text(text).filter(|kind| Kind::SENDABLE.contains(kind));
        kind.map(Self).ok_or_else(|| one_of(Kind::SENDABLE.iter().map(|kind| kind.as_str())))
    }

    fn schema() -> Schema {
        let texts = Kind::SENDABLE.map(Kind::as_str);
        json_schema!({ "type": "string", "enum": texts })
    }
}
