//! What the host keeps for one instance.

use http::uri::Scheme;
use wasmtime::component::ResourceTable;
use wasmtime::{Store, StoreLimits, StoreLimitsBuilder};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{
    RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

use crate::capability::Grants;
use crate::capability::outbound::Slots;
use crate::limits::{
    INSTANCE_CORE_INSTANCES_MAX, INSTANCE_MEMORIES_MAX, INSTANCE_MEMORY_BYTES_MAX,
    INSTANCE_TABLE_ELEMENTS_MAX, INSTANCE_TABLES_MAX, POSTGRES_CONNECTIONS_MAX, REDIS_CONNECTIONS_MAX,
};

/// Ticks of the engine's clock that a guest computes before it has to yield.
const TICKS_PER_SLICE: u64 = 1;

/// The data of a store.
pub struct GuestState {
    pub table: ResourceTable,
    pub grants: Grants,
    /// SQLite connections held open.
    pub sqlite_open: usize,
    /// Room for connections to servers.
    pub redis_slots: Slots,
    pub postgres_slots: Slots,
    limits: StoreLimits,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    hooks: NoOutgoing,
}

impl GuestState {
    /// An empty store for an instance with these grants.
    pub fn new_store(engine: &wasmtime::Engine, grants: Grants) -> Store<Self> {
        let mut store = Store::new(engine, Self::new(grants));
        store.limiter(|state| &mut state.limits);
        store.epoch_deadline_async_yield_and_update(TICKS_PER_SLICE);
        store
    }

    fn new(grants: Grants) -> Self {
        Self {
            table: ResourceTable::new(),
            grants,
            sqlite_open: 0,
            redis_slots: Slots::new(REDIS_CONNECTIONS_MAX),
            postgres_slots: Slots::new(POSTGRES_CONNECTIONS_MAX),
            limits: limits(),
            wasi: wasi(),
            http: WasiHttpCtx::new(),
            hooks: NoOutgoing,
        }
    }
}

/// Clocks, random numbers and the way to stderr: no files, no environment, no arguments, no
/// network. What a guest prints goes to stderr, because stdout belongs to the host's own output.
fn wasi() -> WasiCtx {
    WasiCtx::builder()
        .stdout(wasmtime_wasi::cli::stderr())
        .inherit_stderr()
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .build()
}

fn limits() -> StoreLimits {
    StoreLimitsBuilder::new()
        .memory_size(INSTANCE_MEMORY_BYTES_MAX)
        .table_elements(INSTANCE_TABLE_ELEMENTS_MAX)
        .instances(usize::try_from(INSTANCE_CORE_INSTANCES_MAX).unwrap_or(usize::MAX))
        .memories(usize::try_from(INSTANCE_MEMORIES_MAX).unwrap_or(usize::MAX))
        .tables(usize::try_from(INSTANCE_TABLES_MAX).unwrap_or(usize::MAX))
        .build()
}

impl WasiView for GuestState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for GuestState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.hooks }
    }
}

/// No component may call out over HTTP: the manifest refuses such hosts.
struct NoOutgoing;

type Sent = Result<
    (http::Response<WasiBody>, Box<dyn Future<Output = Result<(), wasmtime_wasi_http::Error>> + Send>),
    wasmtime_wasi_http::Error,
>;

impl WasiHttpHooks for NoOutgoing {
    fn is_supported_scheme(&mut self, _scheme: &Scheme) -> bool {
        false
    }

    fn send_request(
        &mut self,
        _request: http::Request<WasiBody>,
        _options: Option<RequestOptions>,
        _sent: Box<dyn Future<Output = Result<(), wasmtime_wasi_http::Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        Box::new(std::future::ready(Err(wasmtime_wasi_http::Error::HttpRequestDenied)))
    }
}
