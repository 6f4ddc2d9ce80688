//! The functions of `spin:redis`. All are async: the instance's other requests go on meanwhile.

use redis::{Cmd, FromRedisValue};
use wasmtime::component::{Accessor, Resource};

use super::connection::{Connection, other, other_or_type};
use super::{Redis, RedisView, address, reply, wit};

impl RedisView<'_> {
    /// A second handle to the connection, so that the table need not stay borrowed.
    fn get(&self, connection: &Resource<Connection>) -> wasmtime::Result<Connection> {
        Ok(self.table.get(connection)?.clone())
    }
}

impl wit::Host for RedisView<'_> {}

impl wit::HostConnection for RedisView<'_> {
    fn drop(&mut self, connection: Resource<Connection>) -> wasmtime::Result<()> {
        self.table.delete(connection)?;
        Ok(())
    }
}

/// Runs a command whose answer has one type.
async fn run<T: Send, R: FromRedisValue>(
    accessor: &Accessor<T, Redis>,
    connection: Resource<Connection>,
    command: Cmd,
) -> wasmtime::Result<Result<R, wit::Error>> {
    let connection = accessor.with(|mut access| access.get().get(&connection))?;
    Ok(connection.run(command).await.map_err(|e| other(&e)))
}

impl<T: Send> wit::HostConnectionWithStore<T> for Redis {
    async fn open(
        accessor: &Accessor<T, Self>,
        address: String,
    ) -> wasmtime::Result<Result<Resource<Connection>, wit::Error>> {
        let (address, slot) = accessor.with(|mut access| {
            let view = access.get();
            (address::parse(&address, view.outbound), view.slots.take())
        });
        let address = match address {
            Ok(address) => address,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let Some(slot) = slot else {
            return Ok(Err(wit::Error::TooManyConnections));
        };
        match Connection::open(address, slot).await {
            Ok(connection) => Ok(Ok(accessor.with(|mut access| access.get().table.push(connection))?)),
            Err(failed) => Ok(Err(failed)),
        }
    }

    async fn publish(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
        channel: String,
        payload: Vec<u8>,
    ) -> wasmtime::Result<Result<(), wit::Error>> {
        run(accessor, connection, Cmd::publish(channel, payload)).await
    }

    async fn get(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
        key: String,
    ) -> wasmtime::Result<Result<Option<Vec<u8>>, wit::Error>> {
        let value: Result<Option<Vec<u8>>, _> = run(accessor, connection, Cmd::get(key)).await?;
        Ok(value.and_then(|value| {
            reply::check_bytes(value.as_ref().map_or(0, Vec::len))?;
            Ok(value)
        }))
    }

    async fn set(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
        key: String,
        value: Vec<u8>,
    ) -> wasmtime::Result<Result<(), wit::Error>> {
        run(accessor, connection, Cmd::set(key, value)).await
    }

    async fn incr(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
        key: String,
    ) -> wasmtime::Result<Result<i64, wit::Error>> {
        run(accessor, connection, Cmd::incr(key, 1)).await
    }

    async fn del(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
        keys: Vec<String>,
    ) -> wasmtime::Result<Result<u32, wit::Error>> {
        run(accessor, connection, Cmd::del(keys)).await
    }

    async fn sadd(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
        key: String,
        values: Vec<String>,
    ) -> wasmtime::Result<Result<u32, wit::Error>> {
        let connection = accessor.with(|mut access| access.get().get(&connection))?;
        let added = connection.run(Cmd::sadd(key, values)).await;
        Ok(added.map_err(|e| other_or_type(&e)))
    }

    async fn smembers(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
        key: String,
    ) -> wasmtime::Result<Result<Vec<String>, wit::Error>> {
        run(accessor, connection, Cmd::smembers(key)).await
    }

    async fn srem(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
        key: String,
        values: Vec<String>,
    ) -> wasmtime::Result<Result<u32, wit::Error>> {
        run(accessor, connection, Cmd::srem(key, values)).await
    }

    async fn execute(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
        command: String,
        arguments: Vec<wit::RedisParameter>,
    ) -> wasmtime::Result<Result<Vec<wit::RedisResult>, wit::Error>> {
        let connection = accessor.with(|mut access| access.get().get(&connection))?;
        Ok(connection.execute(&command, arguments).await)
    }
}
