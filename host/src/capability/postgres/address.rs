//! The address a guest names, and whether it may connect there.

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::{error, wit};
use crate::capability::outbound::Outbound;
use crate::limits::POSTGRES_CONNECT_MAX;
use crate::manifest::outbound::Service;

/// Reads `postgres://…` or `host=… user=…`. The hosts that are checked are the ones that may be
/// connected to, not what the text looks like.
pub fn parse(text: &str, outbound: &Outbound) -> Result<Config, wit::Error> {
    // The error of the crate quotes no values, so no password either.
    let mut config: Config = text.parse().map_err(|e: tokio_postgres::Error| error::cannot_connect(&e))?;
    if !matches!(config.get_ssl_mode(), SslMode::Disable | SslMode::Prefer) {
        return Err(error::connection_failed("there is no TLS here: sslmode must be disable or prefer"));
    }
    for (host, port) in servers(&config)? {
        if !outbound.allows(Service::Postgres, &host, port) {
            return Err(error::connection_failed(format!(
                "address postgres://{host}:{port} is not permitted"
            )));
        }
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(POSTGRES_CONNECT_MAX);
    }
    Ok(config)
}

/// Every server that may be connected to. An address given by number wins over its name: both count.
fn servers(config: &Config) -> Result<Vec<(String, u16)>, wit::Error> {
    let ports = config.get_ports();
    let port = |index: usize| {
        let port = ports.get(index).or(ports.first());
        port.copied().unwrap_or(Service::Postgres.default_port())
    };
    let mut servers = Vec::new();
    for (index, host) in config.get_hosts().iter().enumerate() {
        let Host::Tcp(name) = host else {
            return Err(error::connection_failed("sockets in files are not supported"));
        };
        servers.push((name.clone(), port(index)));
    }
    for (index, address) in config.get_hostaddrs().iter().enumerate() {
        servers.push((address.to_string(), port(index)));
    }
    if servers.is_empty() {
        return Err(error::connection_failed("the address names no host"));
    }
    Ok(servers)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::manifest::outbound;

    fn problem(entry: &str, address: &str) -> Option<String> {
        let entries = outbound::entries(&[entry.to_owned()]).unwrap();
        let outbound = Outbound::new("c", outbound::rules(&entries, &BTreeMap::new()).unwrap());
        parse(address, &outbound).err().map(|e| format!("{e:?}"))
    }

    #[test]
    fn every_server_has_to_be_allowed() {
        let entry = "postgres://127.0.0.1:7000";
        for address in ["postgres://u:p%40ss@127.0.0.1:7000/db", "host=127.0.0.1 port=7000 user=u"] {
            assert_eq!(problem(entry, address), None);
        }
        for address in [
            "postgres://127.0.0.1/db",
            "host=127.0.0.1,evil port=7000",
            "host=127.0.0.1 port=7000 hostaddr=10.0.0.1",
            "hostaddr=10.0.0.1 port=7000",
        ] {
            assert!(problem(entry, address).unwrap().contains("not permitted"), "{address}");
        }
    }

    #[test]
    fn what_cannot_be_had_is_told() {
        let any = "postgres://*:*";
        for (address, told) in [
            ("postgres://h?sslmode=require", "TLS"),
            ("host=/run/postgresql", "sockets"),
            ("postgres://%2Frun%2Fpostgresql", "sockets"),
            ("user=u", "no host"),
            ("nonsense", "invalid"),
        ] {
            let problem = problem(any, address).unwrap();
            assert!(problem.contains(told), "{address}: {problem}");
        }
        assert_eq!(problem(any, "postgres://h?sslmode=prefer"), None);
    }
}
