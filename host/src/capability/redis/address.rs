//! The address a guest names, and whether it may connect there.

use redis::{ConnectionAddr, ConnectionInfo};

use super::wit;
use crate::capability::outbound::Outbound;
use crate::manifest::outbound::Service;

/// Reads `redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]`. The host that is checked is the one that will
/// be connected to, not what the text looks like. There is no TLS here and there are no sockets in
/// files, so those addresses are as wrong as any.
pub fn parse(text: &str, outbound: &Outbound) -> Result<ConnectionInfo, wit::Error> {
    let info: ConnectionInfo = text.parse().map_err(|_| wit::Error::InvalidAddress)?;
    match &info.addr {
        ConnectionAddr::Tcp(host, port) if outbound.allows(Service::Redis, host, *port) => Ok(info),
        _ => Err(wit::Error::InvalidAddress),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::manifest::outbound;

    fn allowed(entry: &str, address: &str) -> bool {
        let entries = outbound::entries(&[entry.to_owned()]).unwrap();
        let outbound = Outbound::new("c", outbound::rules(&entries, &BTreeMap::new()).unwrap());
        parse(address, &outbound).is_ok()
    }

    #[test]
    fn the_host_that_is_connected_to_counts() {
        let entry = "redis://127.0.0.1:7000";
        assert!(allowed(entry, "redis://127.0.0.1:7000"));
        assert!(allowed(entry, "redis://user:p%40ss@127.0.0.1:7000/3"));
        assert!(!allowed(entry, "redis://127.0.0.1:7000@evil.example:7000"));
        assert!(!allowed(entry, "redis://127.0.0.1"));
        assert!(allowed("redis://127.0.0.1", "redis://127.0.0.1"));
    }

    #[test]
    fn other_ways_in_are_no_addresses() {
        for address in ["", "127.0.0.1:7000", "rediss://h", "unix:///run/r.sock", "redis+unix:///run/r.sock"]
        {
            assert!(!allowed("redis://*:*", address), "{address}");
        }
    }
}
