//! The URL of a server, which may hold a password.

use std::fmt;

/// What stands in a text for what must not be shown.
const HIDDEN: &str = "***";
/// What begins the stack in the text of an error.
const STACK: &str = "Stack backtrace:";

/// A URL that no text shows by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl {
    name: String,
    url: String,
    /// What must never be shown: the URL, and the password in each spelling.
    secrets: Vec<String>,
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerUrl({})", self.name)
    }
}

impl ServerUrl {
    /// `name`: what the server is called in logs.
    pub(super) fn parse(name: String, text: &str, schemes: &[&str]) -> Result<Self, String> {
        let form = || format!("must begin with {}://", schemes.join(":// or "));
        let (scheme, rest) = text.split_once("://").ok_or_else(form)?;
        if !schemes.contains(&scheme) {
            return Err(form());
        }
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err("has a space in it".to_owned());
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        if host.is_empty() || host.starts_with(':') {
            return Err("names no host".to_owned());
        }
        Ok(Self { name, url: text.to_owned(), secrets: secrets(text, authority) })
    }

    /// The URL, password included: for connecting, never for a text.
    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// What the server is called in logs, such as `redis 1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text of an error as it may be told: on one line, without the stack that Spin appends and
    /// without what is secret here.
    pub fn clean(&self, text: &str) -> String {
        let said = text.split(STACK).next().unwrap_or_default();
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let line = lines.join(" ");
        self.secrets.iter().fold(line, |line, secret| line.replace(secret, HIDDEN))
    }
}

/// The longest first, so that no part of one is left when another is within it.
fn secrets(url: &str, authority: &str) -> Vec<String> {
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let in_query = query.split('&').find_map(|pair| pair.strip_prefix("password="));
    let mut secrets = vec![url.to_owned()];
    for password in [password, in_query].into_iter().flatten().filter(|password| !password.is_empty()) {
        secrets.extend([password.to_owned(), decoded(password)]);
    }
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.dedup();
    secrets
}

/// Percent-encoding undone, as whoever connects does it.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%').then(|| after.split_at_checked(2)).flatten();
        let value = escaped.and_then(|(digits, after)| {
            let digits = std::str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, after))
        });
        let (byte, after) = value.unwrap_or((first, after));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
