//! JSON bodies: one type per request and per answer. A refusal names the field that is to blame.

pub mod conversation;
pub mod dead_letters;
pub mod device;
pub mod digest;
pub mod draft;
pub mod global;
pub mod list;
pub mod message;
pub mod page;
pub mod push;
pub mod retention;
pub mod revision;
pub mod scalar;
pub mod sync;
pub mod text;
pub mod upkeep;
pub mod version;

use crate::problem::Problem;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// What a problem document calls the body as a whole.
pub const BODY: &str = "body";

/// Reads a body that must be a JSON object.
pub fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Problem> {
    parse_part(body, BODY)
}

/// As [`parse`], where every field is optional: no body at all is an empty object.
pub fn parse_or_empty<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Problem> {
    parse(if body.is_empty() { b"{}" } else { body })
}

/// Reads one item of a batch; paths in its problem are relative to it. `name`: what to call the
/// item itself.
pub fn parse_part<'a, T: Deserialize<'a>>(text: &'a [u8], name: &str) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let Object(value) = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        refusal(error.inner(), &path, name)
    })?;
    json.end().map_err(|error| refusal(&error, ".", name))?;
    Ok(value)
}

/// `path`: where serde stopped; "." is the top.
fn refusal(error: &serde_json::Error, path: &str, name: &str) -> Problem {
    let text = error.to_string();
    if !error.is_data() {
        return Problem::invalid(name, format!("is not valid JSON: {text}"));
    }
    let position = format!(" at line {} column {}", error.line(), error.column());
    let reason = text.strip_suffix(&position).unwrap_or(&text);
    let (field, reason) = own_field(reason).unwrap_or(("", reason));
    match (path, field) {
        (".", "") => Problem::invalid(name, reason),
        (".", field) => Problem::invalid(field, reason),
        (path, "") => Problem::invalid(path, reason),
        (path, field) => Problem::invalid(format!("{path}.{field}"), reason),
    }
}

/// serde names a missing or repeated field only in words; its path is that of the object.
fn own_field(reason: &str) -> Option<(&str, &'static str)> {
    let quoted = |start| reason.strip_prefix(start)?.strip_suffix('`');
    let missing = quoted("missing field `").map(|field| (field, "is missing"));
    missing.or_else(|| quoted("duplicate field `").map(|field| (field, "stands there twice")))
}

/// Whether the object `body` has a field of this name that is not null. Whatever is wrong with the
/// body shows when it is read.
pub fn has_field(body: &[u8], name: &str) -> bool {
    serde_json::Deserializer::from_slice(body).deserialize_map(Finder(name)).unwrap_or(false)
}

struct Finder<'n>(&'n str);

impl<'de> Visitor<'de> for Finder<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut found = false;
        while let Some((name, value)) = map.next_entry::<Cow<'_, str>, Option<IgnoredAny>>()? {
            found |= value.is_some() && name == self.0;
        }
        Ok(found)
    }
}

/// How a value is read does not show in its schema: it is that of the type within.
macro_rules! described_as_inner {
    ($outer:ty) => {
        impl<T: JsonSchema> JsonSchema for $outer {
            fn inline_schema() -> bool {
                T::inline_schema()
            }

            fn schema_name() -> Cow<'static, str> {
                T::schema_name()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                T::json_schema(generator)
            }
        }
    };
}

/// A value that must stand as a JSON object: serde would also take an array of the fields' values.
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Map<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_map(Map(PhantomData)).map(Object)
    }
}

described_as_inner!(Object<T>);

/// A part of the body that is read later, on its own: what is wrong with it concerns it alone.
pub struct Raw<'a, T> {
    text: &'a RawValue,
    as_type: PhantomData<T>,
}

impl<'a, T> Raw<'a, T> {
    /// The JSON text as the client wrote it.
    pub fn text(&self) -> &'a str {
        self.text.get()
    }
}

impl<'a, T: Deserialize<'a>> Raw<'a, T> {
    pub fn read(&self, name: &str) -> Result<T, Problem> {
        parse_part(self.text.get().as_bytes(), name)
    }
}

impl<'de: 'a, 'a, T> Deserialize<'de> for Raw<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?;
        Ok(Self { text, as_type: PhantomData })
    }
}

described_as_inner!(Raw<'_, T>);

#[cfg(test)]
mod tests;
