//! `ext`: free JSON that travels with a message, kept as the client wrote it.

use crate::error::{Error, Result};
use crate::limits::{EXT_BYTES_MAX, EXT_DEPTH_MAX};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;

/// A checked JSON object, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ext(String);

impl Ext {
    pub fn parse(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        if text.len() > EXT_BYTES_MAX {
            return Err(Error::too_large("ext", format!("must have at most {EXT_BYTES_MAX} bytes")));
        }
        if !text.trim_start().starts_with('{') {
            return Err(Error::invalid("ext", "must be a JSON object"));
        }
        canonical(&text, EXT_DEPTH_MAX).map_err(|reason| Error::invalid("ext", reason))?;
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

    /// The same for every spelling of the same object: keys in order, no white space, strings
    /// without needless escapes. Numbers stay as they were written: to compare them by value would
    /// take away what a double cannot hold.
    pub fn canonical(&self) -> String {
        canonical(&self.0, EXT_DEPTH_MAX).unwrap_or_else(|_| self.0.clone())
    }
}

/// An object's fields, each once.
struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = BTreeMap<String, &'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    if fields.insert(name, value).is_some() {
                        return Err(serde::de::Error::custom(TWICE));
                    }
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Collect).map(Fields)
    }
}

const TWICE: &str = "a key stands there twice";

fn canonical(text: &str, levels: usize) -> Result<String, String> {
    let text = text.trim();
    let deeper = |text: &RawValue| match levels.checked_sub(1) {
        Some(levels) => canonical(text.get(), levels),
        None => Err(too_deep()),
    };
    match text.bytes().next() {
        Some(b'{' | b'[') if levels == 0 => Err(too_deep()),
        Some(b'{') => {
            let Fields(fields) = read(text)?;
            let field = |(name, value): (String, _)| Ok(format!("{}:{}", quoted(&name)?, deeper(value)?));
            let fields = fields.into_iter().map(field).collect::<Result<Vec<_>, String>>()?;
            Ok(format!("{{{}}}", fields.join(",")))
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = read(text)?;
            let items = items.into_iter().map(deeper).collect::<Result<Vec<_>, _>>()?;
            Ok(format!("[{}]", items.join(",")))
        }
        Some(b'"') => quoted(&read::<String>(text)?),
        _ => read::<&RawValue>(text).map(|raw| raw.get().to_owned()),
    }
}

fn too_deep() -> String {
    format!("must nest at most {EXT_DEPTH_MAX} levels")
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| {
        let reason = error.to_string();
        let own = reason.starts_with(TWICE).then(|| TWICE.to_owned());
        own.unwrap_or_else(|| "must be JSON, its strings whole Unicode text".to_owned())
    })
}

fn quoted(text: &str) -> Result<String, String> {
    serde_json::to_string(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical_of(text: &str) -> String {
        Ext::parse(text).unwrap().canonical()
    }

    #[test]
    fn spelling_does_not_matter_to_the_canonical_form() {
        let a = Ext::parse(r#"{"b":1, "a":["\u0041", null ]}"#).unwrap();
        assert_eq!(a.canonical(), canonical_of(r#"{ "a": ["A",null],"b":1}"#));
        assert_eq!(a.as_str(), r#"{"b":1, "a":["\u0041", null ]}"#);
    }

    #[test]
    fn what_differs_differs_in_the_canonical_form() {
        let exts = [
            r#"{"a":12345678901234567890123456789}"#,
            r#"{"a":12345678901234567890123456780}"#,
            r#"{"a":"1"}"#,
            r#"{"a":1}"#,
            r#"{"a":[1]}"#,
            r#"{"a":{}}"#,
        ];
        for (i, one) in exts.iter().enumerate() {
            for other in exts.iter().skip(i + 1) {
                assert_ne!(canonical_of(one), canonical_of(other));
            }
        }
    }

    #[test]
    fn only_objects_within_size_and_depth_pass() {
        for bad in ["[]", "{", "1", "", r#"{"a":1,"a":2}"#, r#"{"a":"\ud800"}"#, r#"{"a":01}"#, "{} {}"] {
            assert!(matches!(Ext::parse(bad), Err(Error::Invalid { .. })), "{bad}");
        }
        let nested = |n: usize| format!("{}1{}", r#"{"a":"#.repeat(n), "}".repeat(n));
        assert!(Ext::parse(nested(EXT_DEPTH_MAX)).is_ok());
        for deep in [EXT_DEPTH_MAX + 1, 600] {
            let refused = Ext::parse(nested(deep));
            assert!(matches!(&refused, Err(Error::Invalid { .. })), "{refused:?}");
        }
        let sized = |n: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(n - 8));
        assert!(Ext::parse(sized(EXT_BYTES_MAX)).is_ok());
        assert!(matches!(Ext::parse(sized(EXT_BYTES_MAX + 1)), Err(Error::TooLarge { .. })));
    }
}
