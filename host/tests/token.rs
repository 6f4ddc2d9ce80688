//! `im token`: prints a token and nothing else, and makes the key of a data folder exactly once.

#![cfg(test)]

mod support;

use std::os::unix::fs::PermissionsExt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use support::{EMPTY, Folder};

fn part(token: &str, index: usize) -> Value {
    let part = token.trim().split('.').nth(index).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

fn token(folder: &Folder, more: &[&str]) -> String {
    let arguments = [&["token", "--tenant", "t", "--user", "u"], more].concat();
    let output = folder.im(&arguments);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stderr, b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn a_token_and_nothing_else() {
    let folder = Folder::new(EMPTY);
    let more = ["--device", "d", "--scope", "admin", "--ttl", "7"];
    let token = token(&folder, &more);
    let (head, claims) = (part(&token, 0), part(&token, 1));
    assert_eq!((&head["alg"], &head["typ"]), (&"HS256".into(), &"JWT".into()));
    assert_eq!(claims["tenant"], "t");
    assert_eq!(claims["sub"], "u");
    assert_eq!(claims["dev"], "d");
    assert_eq!(claims["scope"], "admin");
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 7);
}

#[test]
fn the_key_is_made_once_and_private() {
    let folder = Folder::new(EMPTY);
    let first = part(&token(&folder, &[]), 0);
    assert_eq!(part(&token(&folder, &[]), 0)["kid"], first["kid"]);
    let mode = |name: &str| folder.path(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(".im"), 0o700);
    assert_eq!(mode(".im/keys.json"), 0o600);
    let other = part(&token(&folder, &["--data", "other"]), 0);
    assert_ne!(other["kid"], first["kid"]);
}

#[test]
fn many_at_once_agree_on_the_key() {
    let folder = Folder::new(EMPTY);
    let arguments = ["token", "--tenant", "t", "--user", "u"];
    let started: Vec<_> = (0..8)
        .map(|_| {
            let mut command = folder.command(&arguments);
            command.stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let kids: Vec<Value> = started
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .map(|output| part(&String::from_utf8(output.stdout).unwrap(), 0)["kid"].clone())
        .collect();
    assert!(kids.iter().all(|kid| kid.is_string() && kid == &kids[0]), "{kids:?}");
}

#[test]
fn another_key_can_be_given() {
    let folder = Folder::new(EMPTY);
    let secret = "a secret of at least 32 bytes, it is";
    assert!(part(&token(&folder, &["--key", secret]), 0)["kid"].is_null());
    folder.write(
        "key.json",
        r#"{"kty":"OKP","crv":"Ed25519","kid":"e","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}"#,
    );
    let head = part(&token(&folder, &["--key", "@key.json"]), 0);
    assert_eq!((&head["alg"], &head["kid"]), (&"EdDSA".into(), &"e".into()));
    assert!(!folder.path(".im").exists(), "a given key needs no data folder");
}

#[test]
fn wrong_use_has_code_2() {
    let folder = Folder::new(EMPTY);
    let base = ["token", "--tenant", "t", "--user", "u"];
    let fails = |more: &[&str]| folder.fails(&[&base, more].concat());
    let (code, line) = fails(&["--key", "short"]);
    assert_eq!(code, 2);
    assert!(line.contains("at least 32 bytes") && !line.contains("short"), "{line}");
    assert_eq!(fails(&["--key", "@nowhere"]).0, 2);
    assert_eq!(folder.im(&["token", "--user", "u"]).status.code(), Some(2));
    assert_eq!(folder.im(&[&base[..], &["--ttl", "0"]].concat()).status.code(), Some(2));
    assert_eq!(folder.im(&["frobnicate"]).status.code(), Some(2));
}
