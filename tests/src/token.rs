//! Tokens (JWT), good and bad, put together by hand so that a test can spoil any part.

use crate::keys::Key;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::time::{SystemTime, UNIX_EPOCH};

/// How long a token of the suite lives, in seconds: longer than any run.
const TTL_SECONDS: u64 = 6 * 3600;

pub fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_secs()
}

/// What a good token says, to be signed or changed.
pub fn claims(tenant: &str, user: &str, device: Option<&str>, scope: &str) -> Value {
    let mut claims = json!({
        "tenant": tenant, "sub": user, "scope": scope, "exp": now_seconds() + TTL_SECONDS,
    });
    if let Some(device) = device {
        claims["dev"] = device.into();
    }
    claims
}

/// The header that goes with `key`.
pub fn header(key: &Key) -> Value {
    let mut header = json!({"alg": "HS256", "typ": "JWT"});
    if let Some(kid) = &key.kid {
        header["kid"] = kid.as_str().into();
    }
    header
}

/// A token as it should be.
pub fn sign(key: &Key, claims: &Value) -> String {
    compose(&header(key), claims, |input| hs256(&key.secret, input))
}

/// A token of any header, any claims and any signature.
pub fn compose(header: &Value, claims: &Value, signature: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let (header, claims) = (header.to_string(), claims.to_string());
    let input = format!("{}.{}", encode(header.as_bytes()), encode(claims.as_bytes()));
    let signature = encode(&signature(input.as_bytes()));
    format!("{input}.{signature}")
}

pub fn hs256(secret: &[u8], input: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes any length");
    mac.update(input);
    mac.finalize().into_bytes().to_vec()
}
