//! Names given from outside: tenants, users, devices, conversations, client message ids. A value of
//! one of these types has been checked; nothing else carries a name through the product.

use crate::error::{Error, Result};
use crate::limits::{CLIENT_MSG_ID_CHARS_MAX, NAME_CHARS_MAX};
use std::fmt;

fn check_name(field: &'static str, value: &str) -> Result<()> {
    check_length(field, value.len(), NAME_CHARS_MAX)?;
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_.:@-".contains(&b);
    if !value.bytes().all(allowed) {
        return Err(Error::invalid(field, "may hold only A-Z a-z 0-9 . _ : @ -"));
    }
    Ok(())
}

/// Clients make these as they like, so any text will do that survives being logged and typed.
fn check_client_id(field: &'static str, value: &str) -> Result<()> {
    check_length(field, value.chars().count(), CLIENT_MSG_ID_CHARS_MAX)?;
    if value.chars().any(char::is_control) {
        return Err(Error::invalid(field, "may hold no control characters"));
    }
    Ok(())
}

fn check_length(field: &'static str, chars: usize, chars_max: usize) -> Result<()> {
    if (1..=chars_max).contains(&chars) {
        return Ok(());
    }
    Err(Error::invalid(field, format!("must have 1 to {chars_max} characters")))
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $field:literal, $check:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(String);

        impl $type {
            /// Checks `value`; the error names the field of the API that carries this name.
            pub fn parse(value: impl Into<String>) -> Result<Self> {
                Self::parse_as($field, value)
            }

            /// As [`Self::parse`], for a name that stands in another field.
            pub fn parse_as(field: &'static str, value: impl Into<String>) -> Result<Self> {
                let value = value.into();
                $check(field, &value)?;
                Ok(Self(value))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            pub fn into_string(self) -> String {
                self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// A business line that shares the service with others and sees nothing of them.
    Tenant, "tenant", check_name
);
name!(UserId, "userId", check_name);
name!(DeviceId, "deviceId", check_name);
name!(ConversationId, "conversationId", check_name);
name!(
    /// The client's own id of a message; a retry carries the same one.
    ClientMsgId, "clientMsgId", check_client_id
);

impl ClientMsgId {
    /// When the id was made, in milliseconds since 1970, as far as it tells: version 7 of a UUID (RFC
    /// 9562, 5.7) and a ULID begin with the time.
    pub fn made_at_ms(&self) -> Option<u64> {
        uuid_v7_ms(self.as_str()).or_else(|| ulid_ms(self.as_str()))
    }
}

fn uuid_v7_ms(id: &str) -> Option<u64> {
    let digits: String = id.chars().filter(|c| *c != '-').collect();
    let is_v7 = digits.len() == 32 && digits.as_bytes().get(12) == Some(&b'7');
    if !is_v7 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits.get(..12)?, 16).ok()
}

/// The first ten of a ULID's 26 characters, in Crockford's base 32.
fn ulid_ms(id: &str) -> Option<u64> {
    const ALPHABET: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let digit = |c: char| ALPHABET.find(c.to_ascii_uppercase()).and_then(|at| u64::try_from(at).ok());
    if id.len() != 26 || !id.chars().all(|c| digit(c).is_some()) || id.starts_with(|c| c > '7') {
        return None;
    }
    id.chars().take(10).try_fold(0_u64, |time, c| Some(time << 5 | digit(c)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_allowed_character_passes() {
        let value = "ABCXYZabcxyz0123456789._:@-";
        assert_eq!(UserId::parse(value).unwrap().as_str(), value);
    }

    #[test]
    fn length_is_one_to_the_limit() {
        assert!(Tenant::parse("").is_err());
        assert!(Tenant::parse("a".repeat(NAME_CHARS_MAX)).is_ok());
        assert!(Tenant::parse("a".repeat(NAME_CHARS_MAX + 1)).is_err());
    }

    #[test]
    fn a_client_message_id_may_be_any_printable_text() {
        for good in ["a b/c+d=", "é\u{1f600}", &"ż".repeat(CLIENT_MSG_ID_CHARS_MAX)] {
            assert!(ClientMsgId::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "a\0", "a\n", &"ż".repeat(CLIENT_MSG_ID_CHARS_MAX + 1)] {
            assert!(ClientMsgId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_time_within_a_client_message_id_is_found() {
        let made_at = |id: &str| ClientMsgId::parse(id).unwrap().made_at_ms();
        // The examples of RFC 9562 (A.6) and of the ULID specification.
        assert_eq!(made_at("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), Some(1_645_557_742_000));
        assert_eq!(made_at("01ARZ3NDEKTSV4RRFFQ69G5FAV"), Some(1_469_922_850_259));
        for other in ["1", "017F22E2-79B0-4CC3-98C4-DC0C0C07398F", "81ARZ3NDEKTSV4RRFFQ69G5FAV"] {
            assert_eq!(made_at(other), None, "{other}");
        }
    }

    #[test]
    fn other_characters_are_refused_and_the_field_is_named() {
        for bad in ["a b", "a/b", "é", "a\0", "'", "\"", "{", "\u{1f600}"] {
            let Err(Error::Invalid { field, .. }) = ConversationId::parse(bad) else {
                panic!("{bad:?} passed")
            };
            assert_eq!(field, "conversationId");
        }
    }
}
