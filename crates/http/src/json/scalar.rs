//! Message ids and times in JSON.

use im_domain::MsgId;
use im_domain::limits::{PAGE_ITEMS_MAX, TIME_MS_MAX};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A message id in a request: a decimal string, or an integer from clients whose numbers are exact
/// up to 63 bits.
pub struct IdIn(pub MsgId);

impl<'de> Deserialize<'de> for IdIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = IdIn;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a message id: an unsigned decimal number of at most 63 bits")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<IdIn, E> {
                let id = MsgId::new(number).map(IdIn);
                id.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<IdIn, E> {
                // `parse` alone would take a sign.
                let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                let number = text.parse().ok().filter(|_| digits);
                let id = number.and_then(MsgId::new).map(IdIn);
                id.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for IdIn {
    fn schema_name() -> Cow<'static, str> {
        "MessageIdInput".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A message id of at most 63 bits; 0 stands for none.",
            "anyOf": [
                { "type": "string", "pattern": "^[0-9]+$" },
                // No maximum: it would itself be a number that many clients round.
                { "type": "integer", "minimum": 0 },
            ],
        })
    }
}

/// A message id in an answer: a string, as numbers of JSON are exact only up to 53 bits in many
/// clients.
pub struct IdOut(pub MsgId);

impl Serialize for IdOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl JsonSchema for IdOut {
    fn schema_name() -> Cow<'static, str> {
        "MessageId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An unsigned decimal number of at most 63 bits; \"0\" stands for none.",
            "type": "string",
            "pattern": "^[0-9]+$",
        })
    }
}

/// How many items an answer may have, `MIN` to `MAX`; what is out of range is said in the API's words.
pub struct LimitIn<const MAX: u32 = PAGE_ITEMS_MAX, const MIN: u32 = 1>(pub u32);

impl<'de, const MAX: u32, const MIN: u32> Deserialize<'de> for LimitIn<MAX, MIN> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<const MAX: u32, const MIN: u32>;
        impl<const MAX: u32, const MIN: u32> Visitor<'_> for Reader<MAX, MIN> {
            type Value = LimitIn<MAX, MIN>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {MIN} to {MAX}")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<LimitIn<MAX, MIN>, E> {
                let limit = u32::try_from(number).ok().filter(|limit| (MIN..=MAX).contains(limit));
                limit.map(LimitIn).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
            }
        }
        deserializer.deserialize_u64(Reader)
    }
}

impl<const MAX: u32, const MIN: u32> JsonSchema for LimitIn<MAX, MIN> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

/// A time in a request, in milliseconds since 1970.
pub struct Millis(pub u64);

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(TimeReader { text: false }).map(Millis)
    }
}

impl JsonSchema for Millis {
    fn schema_name() -> Cow<'static, str> {
        "Millis".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Milliseconds since 1970 UTC.",
            "type": "integer",
            "minimum": 0,
            "maximum": TIME_MS_MAX,
        })
    }
}

/// A time in a filter: milliseconds since 1970, or RFC 3339 with an offset.
pub struct Time(pub u64);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TimeReader { text: true }).map(Time)
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                generator.subschema_for::<Millis>(),
                { "description": "RFC 3339 with an offset.", "type": "string", "format": "date-time" },
            ],
        })
    }
}

struct TimeReader {
    /// Whether RFC 3339 is allowed.
    text: bool,
}

impl Visitor<'_> for TimeReader {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("milliseconds from 1970 to the year 9999")?;
        f.write_str(if self.text { ", or RFC 3339 with an offset" } else { "" })
    }

    fn visit_u64<E: Error>(self, ms: u64) -> Result<u64, E> {
        if ms > TIME_MS_MAX {
            return Err(E::invalid_value(Unexpected::Unsigned(ms), &self));
        }
        Ok(ms)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        if !self.text {
            return Err(E::invalid_type(Unexpected::Str(text), &self));
        }
        let ms = OffsetDateTime::parse(text, &Rfc3339).ok().and_then(millis_up);
        ms.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// Rounded up: the first millisecond that is not before the time, so that a bound keeps its
/// meaning against times that are whole milliseconds.
fn millis_up(time: OffsetDateTime) -> Option<u64> {
    let ms = -(-time.unix_timestamp_nanos()).div_euclid(1_000_000);
    u64::try_from(ms).ok().filter(|ms| *ms <= TIME_MS_MAX)
}
