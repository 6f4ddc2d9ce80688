//! The functions of `spin:sqlite`, each in its two forms.
//!
//! The plain form runs with the whole instance waiting: between two such calls without an `await`
//! no other request of the instance touches the connection. The async form lets them go on.

use wasmtime::component::{Access, Accessor, FutureReader, Resource, StreamReader};

use super::blocking::{blocking, elsewhere};
use super::connection::{Connection, Outcome};
use super::wit;
use super::{Sqlite, SqliteView};
use crate::limits::SQLITE_CONNECTIONS_MAX;

type Opened = Result<Resource<Connection>, wit::Error>;
type Streams = (Vec<String>, StreamReader<wit::RowResult>, FutureReader<Result<(), wit::Error>>);

impl SqliteView<'_> {
    fn keep(&mut self, connection: Connection) -> Opened {
        if *self.open >= SQLITE_CONNECTIONS_MAX {
            return Err(wit::Error::Io(format!("an instance may hold {SQLITE_CONNECTIONS_MAX} connections")));
        }
        let kept = self.table.push(connection);
        let kept = kept.map_err(|e| wit::Error::Io(e.to_string()))?;
        *self.open += 1;
        Ok(kept)
    }

    /// A second handle to the connection, so that the table need not stay borrowed.
    fn get(&self, connection: &Resource<Connection>) -> Result<Connection, wit::Error> {
        let found = self.table.get(connection);
        found.cloned().map_err(|_| wit::Error::InvalidConnection)
    }
}

impl wit::Host for SqliteView<'_> {}

impl wit::HostConnection for SqliteView<'_> {
    fn open(&mut self, database: String) -> wasmtime::Result<Opened> {
        let file = self.databases.file(&database);
        let opened = file.and_then(|file| blocking(|| Connection::open(&file, &self.databases.turns)));
        Ok(opened.and_then(|connection| self.keep(connection)))
    }

    fn execute(
        &mut self,
        connection: Resource<Connection>,
        statement: String,
        parameters: Vec<wit::Value>,
    ) -> wasmtime::Result<Result<wit::QueryResult, wit::Error>> {
        let run = |connection: Connection| {
            let outcome = connection.execute(&statement, parameters);
            outcome.result.map(|()| wit::QueryResult { columns: outcome.columns, rows: outcome.rows })
        };
        Ok(self.get(&connection).and_then(run))
    }

    fn last_insert_rowid(&mut self, connection: Resource<Connection>) -> wasmtime::Result<i64> {
        Ok(self.table.get(&connection)?.last_insert_rowid())
    }

    fn changes(&mut self, connection: Resource<Connection>) -> wasmtime::Result<u64> {
        Ok(self.table.get(&connection)?.changes())
    }

    /// Closing may write the log of the database back, so it may block too.
    fn drop(&mut self, connection: Resource<Connection>) -> wasmtime::Result<()> {
        let connection = self.table.delete(connection)?;
        *self.open = self.open.saturating_sub(1);
        blocking(|| drop(connection));
        Ok(())
    }
}

impl<T: Send + 'static> wit::HostConnectionWithStore<T> for Sqlite {
    async fn open_async(accessor: &Accessor<T, Self>, database: String) -> wasmtime::Result<Opened> {
        let place = |mut access: Access<'_, T, Self>| {
            let databases = access.get().databases;
            databases.file(&database).map(|file| (file, databases.turns.clone()))
        };
        let (file, turns) = match accessor.with(place) {
            Ok(place) => place,
            Err(denied) => return Ok(Err(denied)),
        };
        let opened = elsewhere(move || Connection::open(&file, &turns)).await?;
        Ok(opened.and_then(|connection| accessor.with(|mut access| access.get().keep(connection))))
    }

    async fn execute_async(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
        statement: String,
        parameters: Vec<wit::Value>,
    ) -> wasmtime::Result<Result<Streams, wit::Error>> {
        let connection = match accessor.with(|mut access| access.get().get(&connection)) {
            Ok(connection) => connection,
            Err(invalid) => return Ok(Err(invalid)),
        };
        let outcome = elsewhere(move || connection.execute(&statement, parameters)).await?;
        accessor.with(|access| streams(access, outcome)).map(Ok)
    }

    async fn last_insert_rowid_async(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
    ) -> wasmtime::Result<i64> {
        accessor.with(|mut access| Ok(access.get().table.get(&connection)?.last_insert_rowid()))
    }

    async fn changes_async(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
    ) -> wasmtime::Result<u64> {
        accessor.with(|mut access| Ok(access.get().table.get(&connection)?.changes()))
    }
}

/// As Spin answers: the rows that came, and then how it ended.
fn streams<T: 'static>(mut access: Access<'_, T, Sqlite>, outcome: Outcome) -> wasmtime::Result<Streams> {
    let rows = StreamReader::new(&mut access, outcome.rows)?;
    let result = outcome.result;
    let end = FutureReader::new(&mut access, async move { Ok::<_, wasmtime::Error>(result) })?;
    Ok((outcome.columns, rows, end))
}
