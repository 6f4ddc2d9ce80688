//! Making a token.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use jsonwebtoken::Header;
use serde::Serialize;

use super::jwk::{KeyError, SigningKey};

/// What a token allows; the store's routes say which scope they need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// A person, acting for himself.
    User,
    /// A program, acting for any user of its tenant.
    Service,
    /// An operator.
    Admin,
}

/// Who a token is for, and for how long.
pub struct Grant<'a> {
    pub tenant: &'a str,
    pub user: &'a str,
    pub device: Option<&'a str>,
    pub scope: Scope,
    pub life: Duration,
}

#[derive(Serialize)]
struct Claims<'a> {
    tenant: &'a str,
    sub: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dev: Option<&'a str>,
    scope: Scope,
    iat: u64,
    exp: u64,
}

/// A signed token, valid from now on.
pub fn mint(key: &SigningKey, grant: &Grant<'_>) -> Result<String, KeyError> {
    let issued = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut header = Header::new(key.algorithm);
    header.kid.clone_from(&key.kid);
    let claims = Claims {
        tenant: grant.tenant,
        sub: grant.user,
        dev: grant.device,
        scope: grant.scope,
        iat: issued,
        exp: issued.saturating_add(grant.life.as_secs()),
    };
    jsonwebtoken::encode(&header, &claims, &key.key).map_err(|e| KeyError::Refused(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::{Value, json};

    fn part(token: &str, index: usize) -> Value {
        let part = token.split('.').nth(index).unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    }

    #[test]
    fn header_and_claims_are_the_contract() {
        let key = SigningKey::parse(
            r#"{"kty":"oct","kid":"k1","k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"}"#,
        )
        .unwrap();
        let grant = Grant {
            tenant: "t",
            user: "u",
            device: Some("d"),
            scope: Scope::Service,
            life: Duration::from_secs(5),
        };
        let token = mint(&key, &grant).unwrap();
        assert_eq!(part(&token, 0), json!({"typ": "JWT", "alg": "HS256", "kid": "k1"}));
        let claims = part(&token, 1);
        let issued = claims["iat"].as_u64().unwrap();
        assert_eq!(
            claims,
            json!({"tenant": "t", "sub": "u", "dev": "d", "scope": "service",
                   "iat": issued, "exp": issued + 5})
        );
    }

    // RFC 8037, appendix A.1: the key pair; a token signed with one must verify with the other.
    #[test]
    fn ed25519_signs_what_its_public_key_verifies() {
        let key = SigningKey::parse(
            r#"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}"#,
        )
        .unwrap();
        let grant =
            Grant { tenant: "t", user: "u", device: None, scope: Scope::User, life: Duration::from_secs(60) };
        let token = mint(&key, &grant).unwrap();
        assert_eq!(part(&token, 0), json!({"typ": "JWT", "alg": "EdDSA"}));
        let public =
            jsonwebtoken::DecodingKey::from_ed_components("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
                .unwrap();
        let rules = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::EdDSA);
        let read: jsonwebtoken::TokenData<Value> = jsonwebtoken::decode(&token, &public, &rules).unwrap();
        assert_eq!(read.claims["sub"], "u");
    }
}
