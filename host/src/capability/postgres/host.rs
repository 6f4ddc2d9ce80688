//! The functions of `spin:postgres`, each in its two forms.
//!
//! The plain form runs with the whole instance waiting, the async form lets its other requests go on.

use std::sync::Arc;

use tokio_postgres::Config;
use wasmtime::component::{Access, Accessor, FutureReader, Resource, StreamReader};

use super::pool::Pools;
use super::session::{Connection, Outcome};
use super::{Postgres, PostgresView, address, error, wit};
use crate::capability::outbound::Slot;

type Opened = wasmtime::Result<Result<Resource<Connection>, wit::Error>>;
type Streams = (Vec<wit::Column>, StreamReader<wit::Row>, FutureReader<Result<(), wit::Error>>);

/// What connecting needs, taken from the store so that it need not stay borrowed.
struct Opening {
    address: String,
    config: Config,
    pools: Arc<Pools>,
    slot: Slot,
}

impl Opening {
    async fn finish(self) -> Result<Connection, wit::Error> {
        let client = self.pools.get(&self.address, self.config).await?;
        Ok(Connection::new(client, self.slot))
    }
}

impl PostgresView<'_> {
    fn begin_opening(&self, address: String) -> Result<Opening, wit::Error> {
        let config = address::parse(&address, self.outbound)?;
        let slot = self.slots.take().ok_or_else(|| error::connection_failed("too many connections"))?;
        Ok(Opening { address, config, pools: Arc::clone(self.pools), slot })
    }

    fn keep(&mut self, connection: Result<Connection, wit::Error>) -> Opened {
        match connection {
            Ok(connection) => Ok(Ok(self.table.push(connection)?)),
            Err(failed) => Ok(Err(failed)),
        }
    }

    fn get(&self, connection: &Resource<Connection>) -> wasmtime::Result<Connection> {
        Ok(self.table.get(connection)?.clone())
    }
}

impl wit::Host for PostgresView<'_> {}

impl wit::HostConnection for PostgresView<'_> {
    async fn open(&mut self, address: String) -> Opened {
        let connection = match self.begin_opening(address) {
            Ok(opening) => opening.finish().await,
            Err(refused) => Err(refused),
        };
        self.keep(connection)
    }

    async fn query(
        &mut self,
        connection: Resource<Connection>,
        statement: String,
        parameters: Vec<wit::ParameterValue>,
    ) -> wasmtime::Result<Result<wit::RowSet, wit::Error>> {
        let outcome = self.get(&connection)?.query(&statement, parameters).await;
        Ok(outcome
            .and_then(|Outcome { columns, rows, result }| result.map(|()| wit::RowSet { columns, rows })))
    }

    async fn execute(
        &mut self,
        connection: Resource<Connection>,
        statement: String,
        parameters: Vec<wit::ParameterValue>,
    ) -> wasmtime::Result<Result<u64, wit::Error>> {
        Ok(self.get(&connection)?.execute(&statement, parameters).await)
    }

    fn drop(&mut self, connection: Resource<Connection>) -> wasmtime::Result<()> {
        self.table.delete(connection)?;
        Ok(())
    }
}

impl<T: Send + 'static> wit::HostConnectionWithStore<T> for Postgres {
    async fn open_async(accessor: &Accessor<T, Self>, address: String) -> Opened {
        let opening = accessor.with(|mut access| access.get().begin_opening(address));
        let connection = match opening {
            Ok(opening) => opening.finish().await,
            Err(refused) => Err(refused),
        };
        accessor.with(|mut access| access.get().keep(connection))
    }

    async fn query_async(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
        statement: String,
        parameters: Vec<wit::ParameterValue>,
    ) -> wasmtime::Result<Result<Streams, wit::Error>> {
        let connection = accessor.with(|mut access| access.get().get(&connection))?;
        match connection.query(&statement, parameters).await {
            Ok(outcome) => accessor.with(|access| streams(access, outcome)).map(Ok),
            Err(failed) => Ok(Err(failed)),
        }
    }

    async fn execute_async(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
        statement: String,
        parameters: Vec<wit::ParameterValue>,
    ) -> wasmtime::Result<Result<u64, wit::Error>> {
        let connection = accessor.with(|mut access| access.get().get(&connection))?;
        Ok(connection.execute(&statement, parameters).await)
    }
}

/// As Spin answers: the rows that came, and then how it ended. Spin hands rows on as they come; here
/// they are all there, within the bound of a result.
fn streams<T: 'static>(mut access: Access<'_, T, Postgres>, outcome: Outcome) -> wasmtime::Result<Streams> {
    let rows = StreamReader::new(&mut access, outcome.rows)?;
    let result = outcome.result;
    let end = FutureReader::new(&mut access, async move { Ok::<_, wasmtime::Error>(result) })?;
    Ok((outcome.columns, rows, end))
}
