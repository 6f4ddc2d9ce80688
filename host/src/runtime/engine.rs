//! The engine: how components are compiled, where compiled ones are kept, and what an instance may
//! take of the machine.

use std::path::Path;

use wasmtime::{
    Cache, CacheConfig, Config, Engine, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig,
};

use crate::limits::{
    GUEST_SLICE, INSTANCE_CORE_INSTANCES_MAX, INSTANCE_MEMORIES_MAX, INSTANCE_MEMORY_BYTES_MAX,
    INSTANCE_MEMORY_RESIDENT_BYTES, INSTANCE_RECORD_BYTES_MAX, INSTANCE_TABLE_ELEMENTS_MAX,
    INSTANCE_TABLES_MAX, INSTANCES_MAX,
};
use crate::output;

/// A composed component has about this many memories, tables and core modules; the pool holds so
/// many for each instance.
const POOL_MEMORIES_PER_INSTANCE: u32 = 2;
const POOL_TABLES_PER_INSTANCE: u32 = 4;
const POOL_CORE_INSTANCES_PER_INSTANCE: u32 = 16;

/// The engine cannot be made on this machine.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the WebAssembly engine: {0}")]
pub struct EngineError(wasmtime::Error);

/// An engine with a cache of compiled components, and a clock that makes long computations yield.
pub fn new_engine(cache_folder: &Path) -> Result<Engine, EngineError> {
    let mut config = base_config(cache_folder).map_err(EngineError)?;
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
    let engine = match Engine::new(&config) {
        Ok(engine) => engine,
        Err(error) => {
            // The pool reserves terabytes of address space, which some machines do not grant.
            output::error_line(&format!("instances are made without a pool, which is slower: {error}"));
            config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
            Engine::new(&config).map_err(EngineError)?
        }
    };
    start_clock(engine.weak());
    Ok(engine)
}

fn base_config(cache_folder: &Path) -> wasmtime::Result<Config> {
    let mut cache = CacheConfig::new();
    cache.with_directory(cache_folder);
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .wasm_component_model_async(true)
        .epoch_interruption(true)
        .cache(Some(Cache::new(cache)?));
    Ok(config)
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(INSTANCES_MAX)
        .total_memories(INSTANCES_MAX * POOL_MEMORIES_PER_INSTANCE)
        .total_tables(INSTANCES_MAX * POOL_TABLES_PER_INSTANCE)
        .total_core_instances(INSTANCES_MAX * POOL_CORE_INSTANCES_PER_INSTANCE)
        .total_stacks(INSTANCES_MAX)
        .max_memories_per_component(INSTANCE_MEMORIES_MAX)
        .max_tables_per_component(INSTANCE_TABLES_MAX)
        .max_core_instances_per_component(INSTANCE_CORE_INSTANCES_MAX)
        .max_component_instance_size(INSTANCE_RECORD_BYTES_MAX)
        .max_core_instance_size(INSTANCE_RECORD_BYTES_MAX)
        .max_memory_size(INSTANCE_MEMORY_BYTES_MAX)
        .table_elements(INSTANCE_TABLE_ELEMENTS_MAX)
        .linear_memory_keep_resident(INSTANCE_MEMORY_RESIDENT_BYTES);
    pool
}

/// Ticks as long as the engine lives. A thread of its own: a busy runtime must not stop the clock
/// that keeps guests from making it busy.
fn start_clock(engine: EngineWeak) {
    std::thread::spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(GUEST_SLICE);
        }
    });
}
