//! The token matrix: which tokens are taken, which are refused and for what reason. Tokens are
//! signed by an independent implementation, or by hand where it refuses to make a bad one.

use super::*;
use jsonwebtoken::{Algorithm, EncodingKey, Header as JwtHeader};
use serde_json::{Value, json};

const NOW_MS: u64 = 1_760_000_000_000;
const NOW: u64 = NOW_MS / 1_000;
const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// PKCS #8 of an Ed25519 private key (RFC 8410): a fixed head and the 32 bytes of the seed.
fn pkcs8(seed: [u8; 32]) -> Vec<u8> {
    let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    [&head[..], &seed[..]].concat()
}

fn claims() -> Value {
    json!({ "tenant": "acme", "sub": "alice", "exp": NOW + 60 })
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn signed(algorithm: Algorithm, kid: Option<&str>, claims: &Value) -> String {
    let key = match algorithm {
        Algorithm::EdDSA => EncodingKey::from_ed_der(&pkcs8([7; 32])),
        _ => EncodingKey::from_secret(SECRET.as_bytes()).unwrap(),
    };
    let header = JwtHeader { kid: kid.map(str::to_owned), ..JwtHeader::new(algorithm) };
    jsonwebtoken::encode(&header, claims, &key).unwrap()
}

fn hs256(claims: &Value) -> String {
    signed(Algorithm::HS256, None, claims)
}

fn raw(header: &Value, claims: &Value, signature: &[u8]) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{}", part(header), part(claims), URL_SAFE_NO_PAD.encode(signature))
}

fn bare() -> Keys {
    Keys::parse(SECRET).unwrap()
}

/// A set of an HS256 key `a` and an EdDSA key `b`.
fn set() -> Keys {
    let public = ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key();
    let keys = json!({ "keys": [
        { "kty": "oct", "kid": "a", "k": URL_SAFE_NO_PAD.encode(SECRET) },
        { "kty": "OKP", "crv": "Ed25519", "kid": "b", "x": URL_SAFE_NO_PAD.encode(public) },
    ] });
    Keys::parse(&keys.to_string()).unwrap()
}

fn check(keys: &Keys, token: &str) -> Result<Caller, String> {
    let header = format!("Bearer {token}");
    authenticate(keys, Some(&header), NOW_MS).map_err(|problem| {
        assert_eq!(problem.response().status, 401);
        assert!(token.len() < 8 || !problem.detail.contains(token), "the token is repeated");
        problem.detail
    })
}

fn refused(keys: &Keys, token: &str, reason: &str) {
    let detail = check(keys, token).expect_err(reason);
    assert!(detail.contains(reason), "expected {reason:?}, got {detail:?}");
}

#[test]
fn a_good_token_says_who_asks() {
    let mut all = claims();
    all["dev"] = json!("phone");
    all["scope"] = json!("service");
    all["nbf"] = json!(NOW - 1);
    all["iss"] = json!("somebody");
    let caller = check(&bare(), &hs256(&all)).unwrap();
    assert_eq!((caller.tenant.as_str(), caller.user.as_str()), ("acme", "alice"));
    assert_eq!(caller.device.unwrap().as_str(), "phone");
    assert_eq!(caller.scope, Scope::Service);
    let plain = check(&bare(), &hs256(&claims())).unwrap();
    assert_eq!((plain.device, plain.scope), (None, Scope::User));
    assert_eq!(check(&bare(), &hs256(&with("scope", json!("admin")))).unwrap().scope, Scope::Admin);
}

#[test]
fn eddsa_tokens_are_taken() {
    assert!(check(&set(), &signed(Algorithm::EdDSA, Some("b"), &claims())).is_ok());
}

#[test]
fn times_are_checked_with_a_leeway() {
    let leeway = TOKEN_LEEWAY_SECONDS;
    assert!(check(&bare(), &hs256(&with("exp", json!(NOW - leeway + 1)))).is_ok());
    refused(&bare(), &hs256(&with("exp", json!(NOW - leeway))), "expired");
    assert!(check(&bare(), &hs256(&with("nbf", json!(NOW + leeway)))).is_ok());
    refused(&bare(), &hs256(&with("nbf", json!(NOW + leeway + 1))), "not valid yet");
    assert!(check(&bare(), &hs256(&with("exp", json!(NOW as f64 + 0.5)))).is_ok());
}

#[test]
fn claims_are_needed_and_have_their_types() {
    for name in ["tenant", "sub", "exp"] {
        let mut less = claims();
        less.as_object_mut().unwrap().remove(name);
        refused(&bare(), &hs256(&less), "claims");
    }
    refused(&bare(), &hs256(&with("exp", json!("tomorrow"))), "claims");
    refused(&bare(), &hs256(&with("scope", json!("root"))), "scope");
    for bad in ["", "a b", "a/b", "é"] {
        refused(&bare(), &hs256(&with("tenant", json!(bad))), "tenant");
        refused(&bare(), &hs256(&with("sub", json!(bad))), "sub");
        refused(&bare(), &hs256(&with("dev", json!(bad))), "dev");
    }
}

#[test]
fn a_wrong_signature_is_refused() {
    let good = hs256(&claims());
    let (message, signature) = good.rsplit_once('.').unwrap();
    let mut bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
    bytes[0] ^= 1;
    refused(&bare(), &format!("{message}.{}", URL_SAFE_NO_PAD.encode(&bytes)), "signature is wrong");
    refused(&bare(), &format!("{message}."), "signature is wrong");
    refused(&bare(), &format!("{message}.{}", &signature[..10]), "signature");
    refused(&bare(), &format!("{message}.!"), "signature cannot be read");
    let (header, _) = message.split_once('.').unwrap();
    let other = URL_SAFE_NO_PAD.encode(with("sub", json!("bob")).to_string());
    refused(&bare(), &format!("{header}.{other}.{signature}"), "signature is wrong");
}

#[test]
fn the_algorithm_is_the_keys_not_the_tokens() {
    for alg in ["none", "None", "NONE", ""] {
        refused(&bare(), &raw(&json!({ "alg": alg }), &claims(), b""), "alg");
    }
    refused(&bare(), &signed(Algorithm::HS512, None, &claims()), "alg");
    refused(&set(), &signed(Algorithm::EdDSA, Some("a"), &claims()), "alg");
    refused(&set(), &signed(Algorithm::HS256, Some("b"), &claims()), "alg");
    // The classic confusion: the public key, known to all, used as an HMAC secret.
    let public = ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key();
    let header = JwtHeader { kid: Some("b".into()), ..JwtHeader::new(Algorithm::HS256) };
    let key = EncodingKey::from_secret(public.as_bytes()).unwrap();
    refused(&set(), &jsonwebtoken::encode(&header, &claims(), &key).unwrap(), "alg");
}

#[test]
fn the_kid_must_name_a_key() {
    assert!(check(&set(), &signed(Algorithm::HS256, Some("a"), &claims())).is_ok());
    refused(&set(), &signed(Algorithm::HS256, Some("c"), &claims()), "kid");
    refused(&set(), &signed(Algorithm::HS256, None, &claims()), "kid");
    assert!(check(&bare(), &signed(Algorithm::HS256, Some("anything"), &claims())).is_ok());
}

#[test]
fn what_is_no_token_is_refused() {
    for header in [None, Some(""), Some("Bearer"), Some("Basic YTpi"), Some("Bearer "), Some("Bearer a.b")] {
        let problem = authenticate(&bare(), header, NOW_MS).unwrap_err();
        assert_eq!(problem.response().header("www-authenticate"), Some("Bearer"));
    }
    refused(&bare(), "a.b.c.d", "header");
    refused(&bare(), &"x".repeat(TOKEN_BYTES_MAX + 1), "too long");
    refused(&bare(), &raw(&json!({ "alg": "HS256", "crit": ["x"] }), &claims(), b""), "extensions");
}

#[test]
fn the_scheme_is_read_in_any_case() {
    let header = format!("bearer  {}", hs256(&claims()));
    assert!(authenticate(&bare(), Some(&header), NOW_MS).is_ok());
}
