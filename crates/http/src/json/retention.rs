//! For how long a conversation keeps its messages, in requests.

use im_domain::limits::RETENTION_MS_MAX;
use im_domain::retention::KeepFor;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Milliseconds, or null: as the operator says. What is out of range the domain refuses.
pub struct KeepForIn(pub KeepFor);

impl KeepForIn {
    /// Reads a field of which null is a value, and says something else than a field that is not given.
    pub fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Self::deserialize(deserializer).map(Some)
    }
}

impl<'de> Deserialize<'de> for KeepForIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = KeepForIn;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "0 to {RETENTION_MS_MAX} milliseconds, or null")
            }

            fn visit_u64<E: Error>(self, ms: u64) -> Result<KeepForIn, E> {
                Ok(KeepForIn(KeepFor::Ms(ms)))
            }

            fn visit_unit<E: Error>(self) -> Result<KeepForIn, E> {
                Ok(KeepForIn(KeepFor::Policy))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for KeepForIn {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "KeepFor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": RETENTION_MS_MAX },
                { "type": "null" },
            ],
        })
    }
}
