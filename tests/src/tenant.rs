//! A tenant of a test's own, so that all tests share one server, in parallel and repeatedly.

use crate::client::Client;
use crate::keys::Key;
use crate::server::Server;
use crate::token;
use serde_json::Value;
use std::sync::LazyLock;

/// Tells the tenants of one run from those of another.
static RUN: LazyLock<String> = LazyLock::new(|| format!("{:012x}", fastrand::u64(..1 << 48)));

#[derive(Clone)]
pub struct Tenant {
    pub name: String,
    key: Key,
    client: Client,
}

impl Tenant {
    /// On the shared server; `label` is the test's own.
    pub fn new(label: &str) -> Self {
        Self::on(Server::shared(), label)
    }

    /// On `server`. Asked again with the same label, after a restart say, it is the same tenant.
    pub fn on(server: &Server, label: &str) -> Self {
        Self {
            name: format!("{label}-{}", *RUN),
            key: server.key().clone(),
            client: Client::new(server.base()),
        }
    }

    /// Another tenant on the same server, whose name begins with this one's.
    pub fn with_suffix(&self, suffix: &str) -> Self {
        Self { name: format!("{}{suffix}", self.name), ..self.clone() }
    }

    pub fn key(&self) -> &Key {
        &self.key
    }

    /// A user with a device, `<user>-phone`.
    pub fn user(&self, user: &str) -> Client {
        self.device(user, &format!("{user}-phone"))
    }

    pub fn device(&self, user: &str, device: &str) -> Client {
        self.claiming(&token::claims(&self.name, user, Some(device), "user"))
    }

    /// A service: it names the users for whom it acts.
    pub fn service(&self) -> Client {
        self.claiming(&token::claims(&self.name, "service", None, "service"))
    }

    pub fn admin(&self) -> Client {
        self.claiming(&token::claims(&self.name, "admin", Some("console"), "admin"))
    }

    /// Whoever these claims, rightly signed, make one.
    pub fn claiming(&self, claims: &Value) -> Client {
        self.bearing(&token::sign(&self.key, claims))
    }

    /// Whoever this token makes one, on connections of their own: connections belong to the runtime
    /// of the test that opened them, and tenants outlive tests.
    pub fn bearing(&self, token: &str) -> Client {
        Client::new(self.client.base()).with_token(token)
    }

    pub fn nobody(&self) -> Client {
        self.client.clone()
    }
}
