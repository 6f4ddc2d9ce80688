//! One PostgreSQL cluster for all tests of a process, and a database of its own for each.

use super::block_on;
use super::guard::{Guard, folder, free_port};
use im_store::native::NativePostgres;
use im_store::postgres::Postgres;
use im_store::sql::{Row, SqlError, Value};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The one user of the cluster.
const ROLE: &str = "im";
/// Whom Debian's package runs PostgreSQL as; it refuses to be run by root.
const OWNER: &str = "postgres";
/// Nothing of the data outlives the process, so nothing has to reach the disk.
const SETTINGS: [&str; 7] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "shared_buffers=32MB",
    "max_connections=200",
];

/// `$0` is the folder of the programs, `$1` that of the data, the rest PostgreSQL's arguments.
const MAKE_AND_RUN: &str = r#"
data=$1; shift; cd /
"$0/initdb" -D "$data" --username im --auth=trust --no-sync --locale=C --encoding=UTF8 &&
exec "$0/postgres" -D "$data" "$@"
"#;

struct Cluster {
    port: u16,
    _guard: Guard,
}

/// A database, dropped with this value.
pub struct Database(String);

impl Database {
    pub fn create() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("t{}", COUNT.fetch_add(1, Ordering::Relaxed));
        query_at(&url("postgres"), &format!("CREATE DATABASE {name}"), Vec::new()).unwrap();
        Self(name)
    }

    pub fn url(&self) -> String {
        url(&self.0)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let statement = format!("DROP DATABASE {} WITH (FORCE)", self.0);
        // The cluster goes with the process, so one database more does not matter.
        let _ = query_at(&url("postgres"), &statement, Vec::new());
    }
}

/// Runs one statement on a connection of its own.
pub fn query_at(url: &str, statement: &str, parameters: Vec<Value>) -> Result<Vec<Row>, SqlError> {
    block_on(async { NativePostgres::new(url)?.query(statement, parameters).await })
}

fn url(database: &str) -> String {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    url_of(CLUSTER.get_or_init(start).port, database)
}

fn url_of(port: u16, database: &str) -> String {
    format!("postgres://{ROLE}@127.0.0.1:{port}/{database}?sslmode=disable")
}

fn start() -> Cluster {
    let owner = owner();
    let programs = programs();
    loop {
        let folder = folder("postgres");
        if let Some((user, group)) = owner {
            chown(&folder, Some(user), Some(group)).unwrap();
        }
        let port = free_port();
        let guard = Guard::start(folder.clone(), "QUIT", &command(owner, &programs, &folder, port));
        let probe = || query_at(&url_of(port, "postgres"), "SELECT 1", Vec::new()).is_ok();
        if guard.answers(probe) {
            return Cluster { port, _guard: guard };
        }
    }
}

/// Makes a cluster and runs it, as a user who may.
fn command(owner: Option<(u32, u32)>, programs: &Path, folder: &Path, port: u16) -> Vec<String> {
    let mut words = Vec::new();
    if let Some((user, group)) = owner {
        words.extend(["setpriv".to_owned(), format!("--reuid={user}"), format!("--regid={group}")]);
        words.extend(["--clear-groups", "--"].map(str::to_owned));
    }
    words.extend(["sh", "-c", MAKE_AND_RUN].map(str::to_owned));
    words.extend([programs, &folder.join("data")].map(|path| path.display().to_string()));
    for setting in SETTINGS {
        words.extend(["-c".to_owned(), setting.to_owned()]);
    }
    words.extend(["-c".to_owned(), format!("port={port}")]);
    words
}

/// User and group of [`OWNER`] when we are root.
fn owner() -> Option<(u32, u32)> {
    let is_root =
        std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
    let users = is_root.then(|| std::fs::read_to_string("/etc/passwd").unwrap())?;
    let line = users.lines().find(|line| line.split(':').next() == Some(OWNER));
    let line = line.expect("there is no user postgres: PostgreSQL is not installed");
    let numbers: Vec<u32> = line.split(':').skip(2).take(2).map(|number| number.parse().unwrap()).collect();
    Some((numbers[0], numbers[1]))
}

/// The programs of the newest version; Debian has a folder for each.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL is not installed").flatten();
    let numbered = versions.filter_map(|version| {
        let number: u32 = version.file_name().to_str()?.parse().ok()?;
        Some((number, version.path().join("bin")))
    });
    numbered.max().expect("PostgreSQL is not installed").1
}
