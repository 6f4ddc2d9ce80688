//! A private PostgreSQL, which flushes every commit.

use std::fs::File;
use std::path::Path;

use rustix::process::Signal;
use tokio_postgres::NoTls;

use super::process::{Process, end_orphan, free_port};
use super::{Folder, Owner, ServersError, folder, programs, secret};
use crate::limits::{SERVER_POSTGRES_CONNECTIONS_MAX, SERVER_PROBE_MAX};

const NAME: &str = "postgres";
/// On it PostgreSQL ends its sessions, writes what it holds, and ends.
const STOP: Signal = Signal::INT;
const STOP_NAME: &str = "INT";
/// Who owns the databases.
const ROLE: &str = "im";
/// The database that is there from the beginning.
const DATABASE: &str = "postgres";

/// Starts it, and makes its databases the first time; returns where it is, too.
pub async fn start(folder: &Folder, owner: &Owner) -> Result<(Process, String), ServersError> {
    let home = folder.postgres();
    let version = std::fs::read_to_string(home.join("PG_VERSION")).ok();
    let programs = programs::postgres_folder(version.as_deref().map(str::trim))?;
    let password = secret::load_or_create(&folder.secret("postgres"))?;
    if version.is_none() {
        create(folder, owner, &programs.join("initdb"), &password).await?;
    }
    end_orphan(NAME, &home.join("postmaster.pid"), &home, STOP).await?;
    let port = free_port()?;
    let url = format!("postgres://{ROLE}:{password}@127.0.0.1:{port}/{DATABASE}?sslmode=disable");
    let mut command = owner.command(&programs.join(NAME), &home, STOP_NAME);
    for setting in settings(port) {
        command.arg("-c").arg(setting);
    }
    let process = Process::start(NAME, command, STOP, folder.log("postgres"))?;
    let process = process.ready(async || answers(&url).await).await?;
    Ok((process, url))
}

fn settings(port: u16) -> [String; 6] {
    [
        "listen_addresses=127.0.0.1".into(),
        format!("port={port}"),
        "unix_socket_directories=".into(),
        "fsync=on".into(),
        format!("max_connections={SERVER_POSTGRES_CONNECTIONS_MAX}"),
        "logging_collector=off".into(),
    ]
}

/// Makes the databases under another name, so that what was broken off is not taken for whole.
async fn create(folder: &Folder, owner: &Owner, initdb: &Path, password: &str) -> Result<(), ServersError> {
    let unfinished = folder.postgres_unfinished();
    let what = || format!("cannot make {}", unfinished.display());
    if unfinished.exists() {
        std::fs::remove_dir_all(&unfinished).map_err(ServersError::io(what()))?;
    }
    std::fs::create_dir_all(&unfinished).map_err(ServersError::io(what()))?;
    owner.give(&unfinished)?;
    let mut command = owner.command(initdb, &unfinished, STOP_NAME);
    command.args(["--username", ROLE, "--auth=scram-sha-256", "--pwfile=/dev/stdin"]);
    command.args(["--encoding=UTF8", "--locale=C", "--no-instructions"]);
    let input = folder.secret("initdb");
    secret::write_private(&input, password)?;
    owner.give(&input)?;
    run(command, &input, folder).await?;
    std::fs::remove_file(&input).map_err(ServersError::io(what()))?;
    std::fs::rename(&unfinished, folder.postgres()).map_err(ServersError::io(what()))
}

/// Runs initdb, which reads the password from its stdin: a file that it could not open by its path.
async fn run(
    mut command: tokio::process::Command,
    password: &Path,
    folder: &Folder,
) -> Result<(), ServersError> {
    let log = folder.log("initdb");
    let failed = || ServersError::io("cannot run initdb");
    let out = File::create(&log).map_err(failed())?;
    let err = out.try_clone().map_err(failed())?;
    command.stdin(File::open(password).map_err(failed())?).stdout(out).stderr(err).kill_on_drop(true);
    if !command.status().await.map_err(failed())?.success() {
        return Err(ServersError::NotStarted { name: "initdb", why: folder::last_line(&log) });
    }
    Ok(())
}

async fn answers(url: &str) -> bool {
    let connect = async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        drop(client);
        connection.await
    };
    matches!(tokio::time::timeout(SERVER_PROBE_MAX, connect).await, Ok(Ok(())))
}
