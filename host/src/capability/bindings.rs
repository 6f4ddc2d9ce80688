//! Host bindings, generated from `wit/`.

wasmtime::component::bindgen!({
    path: "wit",
    world: "host",
    imports: { default: trappable },
    with: {
        "spin:sqlite/sqlite.connection": crate::capability::sqlite::Connection,
    },
});
