//! The keys that tokens are checked with, from the variable `jwt_keys`. Each key pins its algorithm:
//! a token cannot choose one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{PUBLIC_KEY_LENGTH, Signature, VerifyingKey};
use hmac::{Hmac, KeyInit, Mac};
use im_domain::limits::HS256_SECRET_BYTES_MIN;
use serde::Deserialize;
use serde_json::Value;
use sha2::Sha256;

/// Why key material was refused. No text holds any of the material.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    #[error("it begins like JSON but is neither a JWK Set nor a JWK (RFC 7517)")]
    NotJwk,
    #[error("the JWK Set holds no key")]
    Empty,
    #[error("two keys have the same kid")]
    SameKid,
    #[error("an HS256 secret needs at least {HS256_SECRET_BYTES_MIN} bytes")]
    ShortSecret,
    #[error("key {0}: {1}")]
    Key(usize, &'static str),
}

/// Checks signatures of one algorithm with one key.
enum Verifier {
    /// Keyed once; cloned for each token.
    Hs256(Box<Hmac<Sha256>>),
    EdDsa(Box<VerifyingKey>),
}

pub struct Key {
    kid: Option<String>,
    verifier: Verifier,
}

impl Key {
    /// The only `alg` a token under this key may name (RFC 7518, RFC 8037).
    pub fn algorithm(&self) -> &'static str {
        match self.verifier {
            Verifier::Hs256(_) => "HS256",
            Verifier::EdDsa(_) => "EdDSA",
        }
    }

    /// Whether `signature` is this key's over `message`. HMACs are compared in constant time; weak
    /// Ed25519 keys and malleable signatures are refused.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.verifier {
            Verifier::Hs256(keyed) => {
                let mut mac = keyed.as_ref().clone();
                mac.update(message);
                mac.verify_slice(signature).is_ok()
            }
            Verifier::EdDsa(key) => Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(message, &signature).is_ok()),
        }
    }
}

/// All keys of the service; parsed once per instance.
pub struct Keys {
    keys: Vec<Key>,
    /// One bare secret: it has no name, so tokens may name it as they like.
    bare: bool,
}

impl Keys {
    /// No keys: for routes that need no token.
    pub fn none() -> Self {
        Self { keys: Vec::new(), bare: false }
    }

    /// Reads a JWK Set, one JWK, or one bare HS256 secret. White space around it does not count, since
    /// secrets come from files that end in a new line; `im` signs with the same part.
    pub fn parse(text: &str) -> Result<Self, KeysError> {
        let text = text.trim();
        if !text.starts_with('{') {
            let verifier = hs256(text.as_bytes()).ok_or(KeysError::ShortSecret)?;
            return Ok(Self { keys: vec![Key { kid: None, verifier }], bare: true });
        }
        let mut keys = Vec::new();
        for (index, jwk) in jwks(text)?.into_iter().enumerate() {
            keys.push(jwk.key().map_err(|reason| KeysError::Key(index, reason))?);
        }
        if keys.is_empty() {
            return Err(KeysError::Empty);
        }
        let mut kids: Vec<_> = keys.iter().filter_map(|key| key.kid.as_deref()).collect();
        kids.sort_unstable();
        if !kids.is_sorted_by(|a, b| a < b) {
            return Err(KeysError::SameKid);
        }
        Ok(Self { keys, bare: false })
    }

    /// The key of a token: the one it names; the only one there is if it names none.
    pub fn find(&self, kid: Option<&str>) -> Option<&Key> {
        match (self.keys.as_slice(), kid) {
            ([only], None) => Some(only),
            ([only], Some(_)) if self.bare => Some(only),
            (keys, Some(_)) => keys.iter().find(|key| key.kid.as_deref() == kid),
            (_, None) => None,
        }
    }
}

fn hs256(secret: &[u8]) -> Option<Verifier> {
    if secret.len() < HS256_SECRET_BYTES_MIN {
        return None;
    }
    Hmac::new_from_slice(secret).ok().map(|keyed| Verifier::Hs256(Box::new(keyed)))
}

fn jwks(text: &str) -> Result<Vec<Jwk>, KeysError> {
    let value: Value = serde_json::from_str(text).map_err(|_| KeysError::NotJwk)?;
    let parsed = match value.get("keys") {
        Some(keys) => Vec::<Jwk>::deserialize(keys),
        None => Jwk::deserialize(&value).map(|jwk| vec![jwk]),
    };
    parsed.map_err(|_| KeysError::NotJwk)
}

/// The members of a JWK (RFC 7517) that matter here; a private part is not looked at.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    r#use: Option<String>,
    crv: Option<String>,
    k: Option<String>,
    x: Option<String>,
}

impl Jwk {
    fn key(self) -> Result<Key, &'static str> {
        if self.r#use.as_deref().is_some_and(|r#use| r#use != "sig") {
            return Err("use must be sig");
        }
        let verifier = match self.kty.as_str() {
            "oct" => self.secret()?,
            "OKP" => self.public_key()?,
            _ => return Err("kty must be oct (HS256) or OKP (EdDSA)"),
        };
        let key = Key { kid: self.kid, verifier };
        if self.alg.as_deref().is_some_and(|alg| alg != key.algorithm()) {
            return Err("alg must be HS256 for kty oct and EdDSA for kty OKP");
        }
        Ok(key)
    }

    fn secret(&self) -> Result<Verifier, &'static str> {
        let secret = decode(self.k.as_deref()).ok_or("k must be base64url without padding")?;
        hs256(&secret).ok_or("k must have at least 32 bytes")
    }

    fn public_key(&self) -> Result<Verifier, &'static str> {
        if self.crv.as_deref() != Some("Ed25519") {
            return Err("crv must be Ed25519");
        }
        let x = decode(self.x.as_deref()).ok_or("x must be base64url without padding")?;
        let bytes: [u8; PUBLIC_KEY_LENGTH] = x.try_into().map_err(|_| "x must have 32 bytes")?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| "x is not a point of the curve")?;
        if key.is_weak() {
            return Err("x is a weak key");
        }
        Ok(Verifier::EdDsa(Box::new(key)))
    }
}

fn decode(text: Option<&str>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text?).ok()
}

#[cfg(test)]
mod tests;
