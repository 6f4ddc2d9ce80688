//! Host bindings, generated from `wit/`.

wasmtime::component::bindgen!({
    path: "wit",
    world: "host",
    imports: {
        // Plain functions that wait for a server: the instance waits, the thread does not.
        "spin:postgres/postgres.[static]connection.open": async | trappable,
        "spin:postgres/postgres.[method]connection.query": async | trappable,
        "spin:postgres/postgres.[method]connection.execute": async | trappable,
        default: trappable,
    },
    with: {
        "spin:postgres/postgres.connection": crate::capability::postgres::Connection,
        "spin:redis/redis.connection": crate::capability::redis::Connection,
        "spin:sqlite/sqlite.connection": crate::capability::sqlite::Connection,
    },
});
