//! The options that all client commands share: which server, and who calls it.

use super::CommandError;
use super::key::KeyOptions;
use crate::auth::Scope;
use crate::client::limits::URL_DEFAULT;
use crate::client::{Client, Effort, Identity, ServerUrl};

/// The user that a service token is made for; it acts for the users it names.
const SERVICE_USER: &str = "im";

/// A person's client.
#[derive(clap::Args)]
pub struct PersonOptions {
    #[command(flatten)]
    server: ServerOptions,
    /// Tenant of the user
    #[arg(long, value_name = "T", required_unless_present = "token")]
    tenant: Option<String>,
    /// User who acts
    #[arg(long, value_name = "U", required_unless_present = "token")]
    user: Option<String>,
    /// Device of the user, for `sync`
    #[arg(long, value_name = "D")]
    device: Option<String>,
}

/// A program's client, which acts for any user of a tenant.
#[derive(clap::Args)]
pub struct ServiceOptions {
    #[command(flatten)]
    server: ServerOptions,
}

#[derive(clap::Args)]
struct ServerOptions {
    /// Server to call
    #[arg(long, value_name = "URL", default_value = URL_DEFAULT)]
    url: ServerUrl,
    /// Token to call with, instead of one made with the key
    #[arg(long, value_name = "JWT", conflicts_with_all = ["tenant", "user", "device", "key"])]
    token: Option<String>,
    #[command(flatten)]
    key: KeyOptions,
}

impl PersonOptions {
    pub fn client(self) -> Result<Client, CommandError> {
        let user = self.user.unwrap_or_default();
        self.server.client(self.tenant.as_deref(), user, self.device, Scope::User, Effort::PERSON)
    }

    /// Whether the calls can be those of a device: a given token may name one.
    pub fn may_have_device(&self) -> bool {
        self.device.is_some() || self.server.token.is_some()
    }
}

impl ServiceOptions {
    pub fn client(self, tenant: Option<&str>, effort: Effort) -> Result<Client, CommandError> {
        self.server.client(tenant, SERVICE_USER.to_owned(), None, Scope::Service, effort)
    }
}

impl ServerOptions {
    fn client(
        self,
        tenant: Option<&str>,
        user: String,
        device: Option<String>,
        scope: Scope,
        effort: Effort,
    ) -> Result<Client, CommandError> {
        let identity = match self.token {
            Some(token) => Identity::Token(token),
            None => Identity::Minted {
                key: self.key.signing_key()?,
                tenant: tenant.unwrap_or_default().to_owned(),
                user,
                device,
                scope,
            },
        };
        Ok(Client::new(self.url, identity, effort))
    }
}

/// Runs a client to its end: it waits for the network far more than it computes, so one thread does.
pub fn run_client(work: impl Future<Output = Result<(), CommandError>>) -> Result<(), CommandError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CommandError::failed)?;
    runtime.block_on(work)
}
