//! Instances of one component as wasmtime's HTTP handler manages them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wasmtime::component::GuestTaskId;
use wasmtime::{Store, StoreContextMut};
use wasmtime_wasi_http::WasiHttpView;
use wasmtime_wasi_http::handler::{HandlerState, Instance, Proxy, ShouldAccept, WorkerState};
use wasmtime_wasi_http::p3::bindings::ServicePre;

use super::expiration::Expiration;
use super::lane::Ticket;
use super::state::GuestState;
use crate::capability::Grants;
use crate::limits::{INSTANCE_REQUESTS_CONCURRENT_MAX, INSTANCE_REQUESTS_MAX, REQUEST_DEADLINE};
use crate::output;

/// Whether the server has ended: what is left of the instances is cut off then, which is no failure.
static STOPPING: AtomicBool = AtomicBool::new(false);

/// The server has ended.
pub fn stopping() {
    STOPPING.store(true, Ordering::Relaxed);
}

/// Makes instances of one component.
#[derive(Clone)]
pub struct InstanceMaker {
    pub id: Arc<str>,
    pub component: ServicePre<GuestState>,
    pub grants: Grants,
}

impl HandlerState for InstanceMaker {
    type StoreData = GuestState;
    type WorkerExpiration = Expiration;
    type WorkerState = InstanceRules;

    async fn instantiate(&self) -> wasmtime::Result<Instance<GuestState, Expiration, InstanceRules>> {
        let mut store = GuestState::new_store(self.component.engine(), self.grants.clone());
        let service = self.component.instantiate_async(&mut store).await?;
        Ok(Instance {
            store,
            proxy: Proxy::P3(service),
            view: GuestState::http,
            expiration: Expiration::new(),
            state: InstanceRules { id: Arc::clone(&self.id) },
        })
    }
}

/// How much one instance works.
pub struct InstanceRules {
    id: Arc<str>,
}

impl WorkerState for InstanceRules {
    type StoreData = GuestState;
    type RequestData = Ticket;

    fn should_accept_request(&self, concurrent_count: usize, total_count: usize) -> ShouldAccept {
        if total_count >= INSTANCE_REQUESTS_MAX {
            ShouldAccept::Never
        } else if concurrent_count >= INSTANCE_REQUESTS_CONCURRENT_MAX {
            ShouldAccept::No
        } else {
            ShouldAccept::Yes
        }
    }

    fn on_request_start(
        &self,
        _store: StoreContextMut<'_, GuestState>,
        ticket: Ticket,
        _task: GuestTaskId,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + Sync>> {
        drop(ticket);
        Box::pin(tokio::time::sleep(REQUEST_DEADLINE))
    }

    fn drop(&self, store: Store<GuestState>, result: wasmtime::Result<()>) {
        if let Err(error) = result
            && !STOPPING.load(Ordering::Relaxed)
        {
            output::error_line(&format!("component `{}` failed: {error:#}", self.id));
        }
        // With the store go its SQLite connections, and closing those may block.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || drop(store))),
            Err(_) => drop(store),
        }
    }
}
