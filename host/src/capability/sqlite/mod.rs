//! `spin:sqlite`: one file for each database, one connection for each `open`.

mod authorize;
mod blocking;
mod connection;
mod host;
mod rows;
mod turns;
mod watch;

use std::collections::BTreeSet;
use std::path::PathBuf;

use wasmtime::component::{HasData, Linker, ResourceTable};

use super::bindings::spin::sqlite::sqlite as wit;
use crate::runtime::GuestState;
pub use connection::Connection;
use turns::Turns;

/// The databases of a component, and where their files are.
#[derive(Debug, Clone, Default)]
pub struct Databases {
    pub folder: PathBuf,
    pub allowed: BTreeSet<String>,
    /// Who writes: one queue for all components, because there is one database.
    pub turns: Turns,
}

impl Databases {
    /// The file of a database, if the component may open it. Names come from the manifest, which
    /// knows `default` alone, so none can lead out of the folder.
    fn file(&self, name: &str) -> Result<PathBuf, wit::Error> {
        if !self.allowed.contains(name) {
            return Err(wit::Error::AccessDenied);
        }
        Ok(self.folder.join(format!("{name}.db")))
    }
}

/// Ties the interface to the store's data.
pub struct Sqlite;

impl HasData for Sqlite {
    type Data<'a> = SqliteView<'a>;
}

/// What the interface needs of the store's data.
pub struct SqliteView<'a> {
    databases: &'a Databases,
    table: &'a mut ResourceTable,
    /// How many connections the instance holds open.
    open: &'a mut usize,
}

pub fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    wit::add_to_linker::<_, Sqlite>(linker, |state| SqliteView {
        databases: &state.grants.sqlite,
        table: &mut state.table,
        open: &mut state.sqlite_open,
    })
}
