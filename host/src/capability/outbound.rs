//! Which servers a component may connect to, and how many connections an instance may hold.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use url::Host;

use crate::limits::OUTBOUND_DENIALS_TOLD_MAX;
use crate::manifest::outbound::{OutboundRule, Service};
use crate::output;

/// The servers of one component; by default there are none.
#[derive(Debug, Default)]
pub struct Outbound {
    component: String,
    rules: Vec<OutboundRule>,
    /// What has been denied, so that it is told once.
    told: Mutex<BTreeSet<String>>,
}

impl Outbound {
    pub fn new(component: &str, rules: Vec<OutboundRule>) -> Self {
        Self { component: component.to_owned(), rules, told: Mutex::default() }
    }

    /// Whether the component may connect there. A host that is no host is denied.
    pub fn allows(&self, service: Service, host: &str, port: u16) -> bool {
        let allowed = parse_host(host)
            .is_some_and(|host| self.rules.iter().any(|rule| rule.allows(service, &host, port)));
        if !allowed {
            self.tell(format!("{}://{host}:{port}", service.scheme()));
        }
        allowed
    }

    /// A guest can name as many servers as it likes, so not all of them are told.
    fn tell(&self, address: String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < OUTBOUND_DENIALS_TOLD_MAX && !told.contains(&address) {
            output::error_line(&format!(
                "component `{}` may not connect to {address}: its allowed_outbound_hosts do not name it",
                self.component
            ));
            told.insert(address);
        }
    }
}

/// Addresses come with brackets around IPv6 or without.
fn parse_host(text: &str) -> Option<Host> {
    match text.parse() {
        Ok(ip) => Some(Host::Ipv6(ip)),
        Err(_) => Host::parse(text).ok(),
    }
}

/// How many connections of one kind an instance may still open.
#[derive(Debug, Clone)]
pub struct Slots(Arc<Semaphore>);

/// Room for one connection, given back when dropped.
pub type Slot = OwnedSemaphorePermit;

impl Slots {
    pub fn new(max: usize) -> Self {
        Self(Arc::new(Semaphore::new(max)))
    }

    /// Room for one more connection, if there is any.
    pub fn take(&self) -> Option<Slot> {
        Arc::clone(&self.0).try_acquire_owned().ok()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::manifest::outbound;

    fn outbound(entries: &[&str]) -> Outbound {
        let entries: Vec<String> = entries.iter().map(|&entry| entry.to_owned()).collect();
        let rules = outbound::rules(&outbound::entries(&entries).unwrap(), &BTreeMap::new()).unwrap();
        Outbound::new("c", rules)
    }

    #[test]
    fn nothing_is_allowed_by_default() {
        assert!(!Outbound::default().allows(Service::Redis, "127.0.0.1", 6379));
    }

    #[test]
    fn what_a_rule_names_is_allowed() {
        let outbound = outbound(&["redis://127.0.0.1:*", "postgres://[::1]"]);
        assert!(outbound.allows(Service::Redis, "127.0.0.1", 1));
        assert!(!outbound.allows(Service::Postgres, "127.0.0.1", 5432));
        assert!(outbound.allows(Service::Postgres, "::1", 5432));
        assert!(outbound.allows(Service::Postgres, "[::1]", 5432));
        assert!(!outbound.allows(Service::Redis, "no host", 1));
    }

    #[test]
    fn a_denial_is_told_once_and_not_without_end() {
        let outbound = outbound(&[]);
        for port in 0..=u16::try_from(2 * OUTBOUND_DENIALS_TOLD_MAX).unwrap() {
            outbound.allows(Service::Redis, "h", port);
            outbound.allows(Service::Redis, "h", port);
        }
        assert_eq!(outbound.told.lock().unwrap().len(), OUTBOUND_DENIALS_TOLD_MAX);
    }

    #[test]
    fn slots_come_back() {
        let slots = Slots::new(1);
        let slot = slots.take().unwrap();
        assert!(slots.take().is_none());
        drop(slot);
        assert!(slots.take().is_some());
    }
}
