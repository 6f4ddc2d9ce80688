//! The key that signs the suite's tokens, in each of the forms a server takes it.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// A shared secret for HS256.
#[derive(Clone, Debug)]
pub struct Key {
    /// What the header of a token says; a bare secret has none.
    pub kid: Option<String>,
    pub secret: Vec<u8>,
}

impl Key {
    /// Reads a JWK, a JWK Set (its first shared secret) or a bare secret.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        match serde_json::from_str::<Value>(text) {
            Ok(jwk) if jwk.is_object() => Self::from_jwk(&jwk),
            _ => Self { kid: None, secret: text.as_bytes().to_vec() },
        }
    }

    fn from_jwk(jwk: &Value) -> Self {
        if let Some(keys) = jwk["keys"].as_array() {
            let shared = keys.iter().find(|key| key["kty"] == "oct");
            return Self::from_jwk(shared.expect("the set has a key of type oct"));
        }
        let secret = jwk["k"].as_str().expect("a JWK of type oct has `k`");
        Self {
            kid: jwk["kid"].as_str().map(str::to_owned),
            secret: BASE64_URL_SAFE_NO_PAD.decode(secret).expect("`k` is base64url"),
        }
    }

    pub fn to_jwk(&self) -> Value {
        json!({
            "kty": "oct", "alg": "HS256", "use": "sig", "kid": self.kid,
            "k": BASE64_URL_SAFE_NO_PAD.encode(&self.secret),
        })
    }
}
