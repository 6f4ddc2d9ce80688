//! `allowed_outbound_hosts`: where a component may connect to, as Spin reads it.
//!
//! An entry is `scheme://host` with a port as wanted. Left out here, and refused by name: schemes
//! that the host does not speak, any scheme (`*://`), networks (`10.0.0.0/8`) and `self`.

use std::collections::BTreeMap;
use std::ops::Range;

use url::Host;

use super::template::Template;

/// A service that components may connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    Redis,
    /// Redis over TLS, which Spin speaks: a rule for it means the same here, and is never asked for.
    RedisTls,
    Postgres,
}

/// Servers that a component may connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundRule {
    service: Service,
    host: HostRule,
    port: PortRule,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostRule {
    Any,
    /// Every name below a domain; the text begins with its dot.
    Below(String),
    One(Host),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PortRule {
    Any,
    One(u16),
    Within(Range<u16>),
}

impl Service {
    const ALL: [Self; 3] = [Self::Redis, Self::RedisTls, Self::Postgres];

    /// The scheme of its addresses.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::RedisTls => "rediss",
            Self::Postgres => "postgres",
        }
    }

    /// Where it listens unless told otherwise.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Redis | Self::RedisTls => 6379,
            Self::Postgres => 5432,
        }
    }
}

/// Reads the entries of a manifest. One with variables in it is checked when they have values.
pub fn entries(raw: &[String]) -> Result<Vec<Template>, String> {
    let read = |text: &String| {
        let template = Template::parse(text)?;
        if template.is_literal() {
            OutboundRule::parse(text)?;
        }
        Ok(template)
    };
    let named =
        |text: &String| read(text).map_err(|e: String| format!("allowed_outbound_hosts `{text}`: {e}"));
    raw.iter().map(named).collect()
}

/// The rules that entries make with these values. As in Spin, an entry that is empty once its
/// variables have been filled in is none: a server that is optional.
pub fn rules(entries: &[Template], values: &BTreeMap<String, String>) -> Result<Vec<OutboundRule>, String> {
    let filled = entries.iter().map(|entry| entry.fill(values));
    filled
        .filter(|text| !text.is_empty())
        // The value of a variable may be a secret, so an error does not show the entry.
        .map(|text| OutboundRule::parse(&text).map_err(|e| format!("allowed_outbound_hosts: {e}")))
        .collect()
}

impl OutboundRule {
    fn parse(text: &str) -> Result<Self, String> {
        let form = "must have the form redis://HOST:PORT or postgres://HOST:PORT";
        let (scheme, rest) = text.trim().split_once("://").ok_or(form)?;
        let service = Service::ALL
            .into_iter()
            .find(|service| service.scheme() == scheme)
            .ok_or_else(|| format!("connections to `{scheme}://` are not supported"))?;
        let (host, port) = split_port(rest.strip_suffix('/').unwrap_or(rest));
        if host.contains('/') || port.contains('/') {
            return Err("a path or a network is not supported".into());
        }
        Ok(Self { service, host: HostRule::parse(host)?, port: PortRule::parse(port, service)? })
    }

    /// Whether this server is meant.
    pub fn allows(&self, service: Service, host: &Host, port: u16) -> bool {
        self.service == service && self.host.allows(host) && self.port.allows(port)
    }
}

/// The port follows the last colon, unless that is one of an IPv6 address.
fn split_port(text: &str) -> (&str, &str) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (text, ""),
    }
}

impl HostRule {
    fn parse(text: &str) -> Result<Self, String> {
        // What stands here may be a mistyped address with a password in it: it is not shown.
        let host = |name: &str| Host::parse(name).map_err(|e| format!("the host is wrong: {e}"));
        match text {
            "*" => Ok(Self::Any),
            "self" | "self.alt" => Err("`self` is not supported".into()),
            _ => match text.strip_prefix("*.").map(host).transpose()? {
                Some(Host::Domain(domain)) if !domain.contains('*') => Ok(Self::Below(format!(".{domain}"))),
                None if !text.contains('*') => Ok(Self::One(host(text)?)),
                _ => Err("`*` stands for a whole host, or for what is before a domain".into()),
            },
        }
    }

    fn allows(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Any, _) => true,
            (Self::Below(suffix), Host::Domain(name)) => name.ends_with(suffix.as_str()),
            (Self::Below(_), _) => false,
            (Self::One(one), host) => one == host,
        }
    }
}

impl PortRule {
    fn parse(text: &str, service: Service) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u16>().map_err(|_| format!("`{text}` is no port"));
        match text.split_once("..") {
            // As in Spin, a range ends before its end.
            Some((from, to)) => Ok(Self::Within(number(from)?..number(to)?)),
            None if text == "*" => Ok(Self::Any),
            None if text.is_empty() => Ok(Self::One(service.default_port())),
            None => number(text).map(Self::One),
        }
    }

    fn allows(&self, port: u16) -> bool {
        match self {
            Self::Any => true,
            Self::One(one) => *one == port,
            Self::Within(range) => range.contains(&port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(rule: &str, host: &str, port: u16) -> bool {
        OutboundRule::parse(rule).unwrap().allows(Service::Redis, &Host::parse(host).unwrap(), port)
    }

    #[test]
    fn hosts() {
        assert!(allows("redis://db.example", "DB.example", 6379));
        assert!(!allows("redis://db.example", "x.db.example", 6379));
        assert!(allows("redis://*.example", "a.b.example", 6379));
        assert!(!allows("redis://*.example", "example", 6379));
        assert!(!allows("redis://*.example", "badexample", 6379));
        assert!(allows("redis://*", "10.0.0.1", 6379));
        assert!(allows("redis://[::1]:1", "[0:0::1]", 1));
        assert!(allows("redis://[::1]", "[::1]", 6379));
        assert!(allows("redis://127.0.0.1/", "127.0.0.1", 6379));
        assert!(!allows("redis://localhost", "127.0.0.1", 6379));
    }

    #[test]
    fn ports() {
        assert!(!allows("redis://h", "h", 6380));
        assert!(allows("redis://h:*", "h", 1));
        assert!(allows("redis://h:7000", "h", 7000));
        assert!(allows("redis://h:7000..7003", "h", 7002));
        assert!(!allows("redis://h:7000..7003", "h", 7003));
    }

    #[test]
    fn a_rule_is_for_its_scheme_alone() {
        let rule = OutboundRule::parse("postgres://*:*").unwrap();
        let host = Host::parse("h").unwrap();
        assert!(rule.allows(Service::Postgres, &host, 1));
        assert!(!rule.allows(Service::Redis, &host, 1));
        assert!(!allows("rediss://*:*", "h", 1), "TLS alone");
    }

    #[test]
    fn what_is_not_supported_is_named() {
        for (text, told) in [
            ("http://h", "http://"),
            ("*://h:1", "*://"),
            ("h", "redis://"),
            ("", "redis://"),
            ("redis://10.0.0.0/8", "network"),
            ("redis://h:1/0", "path"),
            ("redis://self", "self"),
            ("redis://a*", "`*`"),
            ("redis://*.*.x", "`*`"),
            ("redis://*.127.0.0.1", "`*`"),
            ("redis://h:x", "`x`"),
            ("redis://h:1..x", "`x`"),
            ("redis://u:p@h", "port"),
            ("redis://", "host"),
        ] {
            let problem = OutboundRule::parse(text).unwrap_err();
            assert!(problem.contains(told), "{text}: {problem}");
        }
    }

    #[test]
    fn entries_with_variables() {
        let raw = ["redis://{{ host }}:{{ port }}".to_owned(), "{{ more }}".to_owned()];
        let entries = entries(&raw).unwrap();
        let values = |host: &str, more: &str| {
            [("host", host), ("port", "7000"), ("more", more)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into()
        };
        assert_eq!(rules(&entries, &values("h", "")).unwrap().len(), 1);
        assert_eq!(rules(&entries, &values("h", "postgres://h")).unwrap().len(), 2);
        assert!(rules(&entries, &values("h", "http://h")).unwrap_err().contains("http://"));
        assert!(!rules(&entries, &values("SECRET@", "")).unwrap_err().contains("SECRET"));
    }
}
