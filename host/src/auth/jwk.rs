//! Private keys as JWK (RFC 7517): reading them, and choosing the one that signs.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde::Deserialize;

use crate::limits::KEY_BYTES_MIN;

/// DER of a PKCS #8 Ed25519 private key (RFC 8410), up to the 32 bytes of the key itself.
const ED25519_PKCS8_PREFIX: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
/// Bytes of an Ed25519 private key.
const ED25519_BYTES: usize = 32;

/// Why a key cannot sign. No variant carries any part of a key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum KeyError {
    #[error("the key set is no valid JWK or JWK Set: {0}")]
    NotJwk(String),
    #[error(
        "the key set has no key that can sign: it needs an oct key for HS256 or an Ed25519 key with its private part"
    )]
    NoneUsable,
    #[error("a secret for HS256 must have at least {KEY_BYTES_MIN} bytes")]
    TooShort,
    #[error("the Ed25519 key has a private part that is not {ED25519_BYTES} bytes")]
    NotEd25519,
    #[error("a key is not valid base64url: {0}")]
    NotBase64(#[from] base64::DecodeError),
    #[error("cannot sign with this key: {0}")]
    Refused(String),
}

/// A key that can sign, with what the token's header must say.
#[derive(Clone)]
pub struct SigningKey {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<String>,
    pub(super) key: EncodingKey,
}

/// Public members of a key are of no use here, so unknown ones are passed over.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    crv: Option<String>,
    kid: Option<String>,
    alg: Option<String>,
    k: Option<String>,
    d: Option<String>,
}

#[derive(Deserialize)]
struct JwkSet {
    keys: Vec<Jwk>,
}

impl SigningKey {
    /// Reads a JWK Set, one JWK, or a bare secret for HS256, and takes the first key that can sign.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        if !text.starts_with('{') {
            return Self::from_secret(text.as_bytes(), None);
        }
        Self::first_usable(&parse_set(text)?)
    }

    /// The first HS256 key of a JWK Set, or the bare secret: what the host may sign with for itself
    /// when the keys were given to it rather than made by it.
    pub fn parse_symmetric(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        if !text.starts_with('{') {
            return Self::from_secret(text.as_bytes(), None);
        }
        let mut keys = parse_set(text)?;
        keys.retain(|key| key.kty == "oct");
        Self::first_usable(&keys)
    }

    fn first_usable(keys: &[Jwk]) -> Result<Self, KeyError> {
        for key in keys {
            if let Some(found) = Self::from_jwk(key)? {
                return Ok(found);
            }
        }
        Err(KeyError::NoneUsable)
    }

    /// `None` for a key that is not made for signing here, such as a public one.
    fn from_jwk(jwk: &Jwk) -> Result<Option<Self>, KeyError> {
        match (jwk.kty.as_str(), jwk.crv.as_deref(), &jwk.k, &jwk.d) {
            ("oct", _, Some(k), _) if jwk.alg.as_deref().is_none_or(|alg| alg == "HS256") => {
                Self::from_secret(&URL_SAFE_NO_PAD.decode(k)?, jwk.kid.clone()).map(Some)
            }
            ("OKP", Some("Ed25519"), _, Some(d)) => {
                Self::from_ed25519(&URL_SAFE_NO_PAD.decode(d)?, jwk.kid.clone()).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn from_secret(secret: &[u8], kid: Option<String>) -> Result<Self, KeyError> {
        if secret.len() < KEY_BYTES_MIN {
            return Err(KeyError::TooShort);
        }
        let key = EncodingKey::from_secret(secret).map_err(|e| KeyError::Refused(e.to_string()))?;
        Ok(Self { algorithm: Algorithm::HS256, kid, key })
    }

    fn from_ed25519(private: &[u8], kid: Option<String>) -> Result<Self, KeyError> {
        if private.len() != ED25519_BYTES {
            return Err(KeyError::NotEd25519);
        }
        let der = [&ED25519_PKCS8_PREFIX, private].concat();
        Ok(Self { algorithm: Algorithm::EdDSA, kid, key: EncodingKey::from_ed_der(&der) })
    }
}

fn parse_set(text: &str) -> Result<Vec<Jwk>, KeyError> {
    // serde_json's own message may quote the input, which is a key: say only where it fails.
    let place = |e: serde_json::Error| KeyError::NotJwk(format!("line {}, column {}", e.line(), e.column()));
    let value: serde_json::Value = serde_json::from_str(text).map_err(place)?;
    if value.get("keys").is_some() {
        return Ok(JwkSet::deserialize(value)
            .map_err(|_| KeyError::NotJwk("a member is missing or has the wrong type".into()))?
            .keys);
    }
    let key = Jwk::deserialize(value)
        .map_err(|_| KeyError::NotJwk("a member is missing or has the wrong type".into()))?;
    Ok(vec![key])
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 8037, appendix A.1.
    const ED25519: &str = r#"{"kty":"OKP","crv":"Ed25519","kid":"e",
        "d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
        "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    const OCT: &str =
        r#"{"kty":"oct","alg":"HS256","kid":"o","k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"}"#;

    fn chosen(text: &str) -> (Algorithm, Option<String>) {
        let key = SigningKey::parse(text).unwrap();
        (key.algorithm, key.kid)
    }

    #[test]
    fn one_key_a_set_or_a_secret() {
        assert_eq!(chosen(OCT), (Algorithm::HS256, Some("o".into())));
        assert_eq!(chosen(ED25519), (Algorithm::EdDSA, Some("e".into())));
        assert_eq!(chosen(&format!(r#"{{"keys":[{ED25519},{OCT}]}}"#)).0, Algorithm::EdDSA);
        assert_eq!(chosen("0123456789abcdef0123456789abcdef"), (Algorithm::HS256, None));
    }

    #[test]
    fn the_hosts_own_calls_take_the_symmetric_key() {
        let set = format!(r#"{{"keys":[{ED25519},{OCT}]}}"#);
        assert_eq!(SigningKey::parse_symmetric(&set).unwrap().kid, Some("o".into()));
        let only_ed = format!(r#"{{"keys":[{ED25519}]}}"#);
        assert_eq!(SigningKey::parse_symmetric(&only_ed).err(), Some(KeyError::NoneUsable));
    }

    #[test]
    fn unusable_keys_say_why_and_show_nothing() {
        let refused = |text: &str| SigningKey::parse(text).err().unwrap();
        assert_eq!(refused("short"), KeyError::TooShort);
        assert_eq!(refused(r#"{"kty":"oct","k":"AAEC"}"#), KeyError::TooShort);
        assert_eq!(refused(r#"{"keys":[]}"#), KeyError::NoneUsable);
        assert_eq!(refused(r#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#), KeyError::NoneUsable);
        assert_eq!(refused(r#"{"kty":"OKP","crv":"Ed25519","d":"AAEC"}"#), KeyError::NotEd25519);
        let broken = refused(r#"{"kty":"oct","k":SECRETSECRET}"#).to_string();
        assert!(!broken.contains("SECRET"), "{broken}");
        let mistyped = refused(r#"{"kty":"oct","k":["SECRETSECRET"]}"#).to_string();
        assert!(!mistyped.contains("SECRET"), "{mistyped}");
    }
}
