//! Who asks: bearer tokens (RFC 6750) that are JWTs (RFC 7519) signed with one of our keys.
//!
//! The check is written over RustCrypto and not over a JWT crate: such a crate brings every
//! algorithm there is (0.5 MB in each component), reads the clock itself and lets the token name
//! its algorithm. Tests sign with such a crate, so the two are held against each other.

use crate::json::Object;
use crate::keys::Keys;
use crate::problem::Problem;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use im_domain::limits::{TOKEN_BYTES_MAX, TOKEN_LEEWAY_SECONDS};
use im_domain::{DeviceId, Tenant, UserId};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One user, as that user.
    User,
    /// A service of the tenant: acts for any of its users.
    Service,
    /// One user who may also look after the store.
    Admin,
}

/// Who asks, as the token said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub tenant: Tenant,
    pub user: UserId,
    pub device: Option<DeviceId>,
    pub scope: Scope,
}

/// Checks the value of an `authorization` header. `now_ms`: milliseconds since 1970. The reason of
/// a refusal never repeats the token or anything it claims.
pub fn authenticate(keys: &Keys, authorization: Option<&str>, now_ms: u64) -> Result<Caller, Problem> {
    bearer(authorization)
        .and_then(|token| verified_claims(keys, token))
        .and_then(|claims| claims.caller(now_ms))
        .map_err(Problem::unauthenticated)
}

type Checked<T> = Result<T, &'static str>;

fn bearer(authorization: Option<&str>) -> Checked<&str> {
    let value = authorization.ok_or("send one authorization header with a bearer token")?;
    let (scheme, token) = value.split_once(' ').ok_or("the authorization header must be: Bearer <token>")?;
    if !scheme.eq_ignore_ascii_case("Bearer") {
        return Err("the authorization scheme must be Bearer");
    }
    let token = token.trim_matches(' ');
    if token.len() > TOKEN_BYTES_MAX {
        return Err("the token is too long");
    }
    Ok(token)
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<IgnoredAny>,
}

fn verified_claims(keys: &Keys, token: &str) -> Checked<Claims> {
    let (message, signature) = token.rsplit_once('.').ok_or("the token is not a JWT")?;
    let (header, claims) = message.split_once('.').ok_or("the token is not a JWT")?;
    let header: Header = decode(header).ok_or("the token's header cannot be read")?;
    if header.crit.is_some() {
        return Err("the token's header asks for extensions that are not supported");
    }
    let key = keys.find(header.kid.as_deref()).ok_or("the token's kid names no key of this service")?;
    if header.alg != key.algorithm() {
        return Err("the token's alg is not that of its key");
    }
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| "the token's signature cannot be read")?;
    if !key.verifies(message.as_bytes(), &signature) {
        return Err("the token's signature is wrong");
    }
    decode(claims).ok_or("the token's claims tenant, sub, exp are missing or one has a wrong type")
}

fn decode<T: DeserializeOwned>(part: &str) -> Option<T> {
    let Object(value) = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()?;
    Some(value)
}

/// Claims beyond these are not looked at.
#[derive(Deserialize)]
struct Claims {
    tenant: String,
    sub: String,
    dev: Option<String>,
    scope: Option<String>,
    /// Seconds since 1970, possibly with a fraction, as RFC 7519 defines its times.
    exp: f64,
    nbf: Option<f64>,
}

impl Claims {
    fn caller(self, now_ms: u64) -> Checked<Caller> {
        self.check_times(now_ms)?;
        let scope = match self.scope.as_deref() {
            None | Some("user") => Scope::User,
            Some("service") => Scope::Service,
            Some("admin") => Scope::Admin,
            Some(_) => return Err("the token's scope must be user, service or admin"),
        };
        let device = self.dev.map(DeviceId::parse).transpose();
        Ok(Caller {
            tenant: Tenant::parse(self.tenant).map_err(|_| "the token's tenant is not a valid id")?,
            user: UserId::parse(self.sub).map_err(|_| "the token's sub is not a valid id")?,
            device: device.map_err(|_| "the token's dev is not a valid id")?,
            scope,
        })
    }

    fn check_times(&self, now_ms: u64) -> Checked<()> {
        // Exact: today's milliseconds need 41 of the 53 bits.
        let now = now_ms as f64 / 1_000.0;
        let leeway = TOKEN_LEEWAY_SECONDS as f64;
        if now >= self.exp + leeway {
            return Err("the token has expired");
        }
        if self.nbf.is_some_and(|nbf| now + leeway < nbf) {
            return Err("the token is not valid yet");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
