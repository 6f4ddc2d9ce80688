//! Key material: what is taken, what is refused and why, which key a token gets.

use super::*;

fn secret(byte: u8) -> String {
    URL_SAFE_NO_PAD.encode([byte; HS256_SECRET_BYTES_MIN])
}

fn public_key() -> String {
    URL_SAFE_NO_PAD.encode(ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key())
}

fn refusal(text: &str) -> KeysError {
    Keys::parse(text).err().expect("it was taken")
}

#[test]
fn a_bare_secret_serves_every_kid() {
    let keys = Keys::parse(&"s".repeat(HS256_SECRET_BYTES_MIN)).unwrap();
    assert!(keys.find(None).is_some());
    assert!(keys.find(Some("whatever")).is_some());
    assert_eq!(refusal(&"s".repeat(HS256_SECRET_BYTES_MIN - 1)), KeysError::ShortSecret);
    assert_eq!(refusal(""), KeysError::ShortSecret);
    let padded = format!("{}\n", "s".repeat(HS256_SECRET_BYTES_MIN - 1));
    assert_eq!(refusal(&padded), KeysError::ShortSecret, "a new line at its end is no part of it");
}

#[test]
fn in_a_set_a_token_must_name_its_key() {
    let set = format!(
        r#"{{"keys":[{{"kty":"oct","kid":"a","k":"{}"}},{{"kty":"OKP","crv":"Ed25519","kid":"b","x":"{}"}}]}}"#,
        secret(1),
        public_key()
    );
    let keys = Keys::parse(&set).unwrap();
    assert_eq!(keys.find(Some("a")).unwrap().algorithm(), "HS256");
    assert_eq!(keys.find(Some("b")).unwrap().algorithm(), "EdDSA");
    assert!(keys.find(Some("c")).is_none());
    assert!(keys.find(None).is_none());
}

#[test]
fn the_only_key_may_stay_unnamed_but_a_name_must_match() {
    for text in [
        format!(r#"{{"kty":"oct","kid":"a","k":"{}"}}"#, secret(1)),
        format!(r#" {{"keys":[{{"kty":"oct","kid":"a","k":"{}"}}]}}"#, secret(1)),
    ] {
        let keys = Keys::parse(&text).unwrap();
        assert!(keys.find(None).is_some());
        assert!(keys.find(Some("a")).is_some());
        assert!(keys.find(Some("b")).is_none());
    }
}

#[test]
fn malformed_material_is_refused_by_reason() {
    assert_eq!(refusal("{"), KeysError::NotJwk);
    assert_eq!(refusal("{}"), KeysError::NotJwk);
    assert_eq!(refusal(r#"{"keys":{}}"#), KeysError::NotJwk);
    assert_eq!(refusal(r#"{"keys":[]}"#), KeysError::Empty);
    let twice = format!(r#"{{"kty":"oct","kid":"a","k":"{}"}}"#, secret(1));
    assert_eq!(refusal(&format!(r#"{{"keys":[{twice},{twice}]}}"#)), KeysError::SameKid);
    let cases = [
        (r#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#.to_owned(), "kty"),
        (r#"{"kty":"oct"}"#.to_owned(), "k must"),
        (r#"{"kty":"oct","k":"c2hvcnQ"}"#.to_owned(), "k must have"),
        (format!(r#"{{"kty":"oct","alg":"HS512","k":"{}"}}"#, secret(1)), "alg"),
        (format!(r#"{{"kty":"oct","use":"enc","k":"{}"}}"#, secret(1)), "use"),
        (format!(r#"{{"kty":"OKP","crv":"Ed448","x":"{}"}}"#, public_key()), "crv"),
        (r#"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#.to_owned(), "x must have"),
        (format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{}"}}"#, URL_SAFE_NO_PAD.encode([0; 32])), "x is"),
    ];
    for (text, reason) in cases {
        let said = refusal(&text).to_string();
        assert!(said.starts_with("key 0: ") && said.contains(reason), "{text}: {said}");
    }
}

#[test]
fn a_refusal_never_repeats_the_material() {
    for text in [r#"{"kty":"oct","k":"c2hvcnQ"}"#, r#"{"kty":"oct","k":"c2hvcnQ!"}"#, "c2hvcnQ"] {
        assert!(!refusal(text).to_string().contains("c2hvcnQ"));
    }
}
