//! `ext`: free JSON that travels with a message, kept as the client wrote it.

use crate::error::{Error, Result};
use crate::limits::{EXT_BYTES_MAX, EXT_DEPTH_MAX};
use serde_json::Value;

/// A checked JSON object, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ext(String);

impl Ext {
    pub fn parse(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        if text.len() > EXT_BYTES_MAX {
            return Err(Error::too_large("ext", format!("must have at most {EXT_BYTES_MAX} bytes")));
        }
        let value: Value = serde_json::from_str(&text)
            .map_err(|_| Error::invalid("ext", "must be JSON with numbers in range"))?;
        if !value.is_object() {
            return Err(Error::invalid("ext", "must be a JSON object"));
        }
        if depth(&value) > EXT_DEPTH_MAX {
            return Err(Error::invalid("ext", format!("must nest at most {EXT_DEPTH_MAX} levels")));
        }
        Ok(Self(text))
    }

    /// An `ext` that was checked when it was stored.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }

    /// The same for every spelling of the same object: keys in order, no white space.
    pub fn canonical(&self) -> String {
        serde_json::from_str::<Value>(&self.0).map_or_else(|_| self.0.clone(), |v| v.to_string())
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_matter_to_the_canonical_form() {
        let a = Ext::parse(r#"{"b":1, "a":[true]}"#).unwrap();
        let b = Ext::parse(r#"{ "a": [true],"b":1}"#).unwrap();
        assert_eq!(a.canonical(), b.canonical());
        assert_eq!(a.as_str(), r#"{"b":1, "a":[true]}"#);
    }

    #[test]
    fn only_objects_within_size_and_depth_pass() {
        assert!(Ext::parse("[]").is_err());
        assert!(Ext::parse("{").is_err());
        let nested = |n: usize| format!("{}1{}", r#"{"a":"#.repeat(n), "}".repeat(n));
        assert!(Ext::parse(nested(EXT_DEPTH_MAX)).is_ok());
        assert!(Ext::parse(nested(EXT_DEPTH_MAX + 1)).is_err());
        assert!(Ext::parse(nested(600)).is_err());
        let sized = |n: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(n - 8));
        assert!(Ext::parse(sized(EXT_BYTES_MAX)).is_ok());
        assert!(matches!(Ext::parse(sized(EXT_BYTES_MAX + 1)), Err(Error::TooLarge { .. })));
    }
}
