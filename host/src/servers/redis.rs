//! A private Redis: every write in an append-only file, flushed each second.

use std::path::Path;

use rustix::process::Signal;

use super::process::{Process, end_orphan, free_port};
use super::{Folder, ServersError, owner, programs, secret};
use crate::limits::SERVER_PROBE_MAX;

const NAME: &str = "redis-server";
/// On it Redis writes what it holds and ends.
const STOP: Signal = Signal::TERM;
const STOP_NAME: &str = "TERM";
const PID_FILE: &str = "redis.pid";
const CONFIG_FILE: &str = "redis.conf";

/// Starts it; returns where it is, too.
pub async fn start(folder: &Folder) -> Result<(Process, String), ServersError> {
    let program = programs::redis_server()?;
    let home = folder.redis();
    std::fs::create_dir_all(&home).map_err(ServersError::io(format!("cannot make {}", home.display())))?;
    end_orphan(NAME, &home.join(PID_FILE), &home, STOP).await?;
    let port = free_port()?;
    let password = secret::load_or_create(&folder.secret("redis"))?;
    // In a file, not on the command line, where everyone could read the password.
    secret::write_private(&home.join(CONFIG_FILE), &config(port, &password))?;
    let url = format!("redis://:{password}@127.0.0.1:{port}");
    let process = Process::start(NAME, command(&program, &home), STOP, folder.log("redis"))?;
    let process = process.ready(async || answers(&url).await).await?;
    Ok((process, url))
}

fn command(program: &Path, home: &Path) -> tokio::process::Command {
    let setpriv = programs::on_path("setpriv");
    let mut command = owner::ending(setpriv.as_deref(), STOP_NAME, &[], program);
    command.current_dir(home).arg(CONFIG_FILE);
    command
}

/// It runs in its folder, so no path has to be quoted. It refuses writes when memory is short rather
/// than dropping what it holds.
fn config(port: u16, password: &str) -> String {
    format!(
        "bind 127.0.0.1\nport {port}\nrequirepass {password}\ndir .\npidfile {PID_FILE}\n\
         daemonize no\nsave \"\"\nappendonly yes\nappendfsync everysec\n\
         maxmemory-policy noeviction\n"
    )
}

async fn answers(url: &str) -> bool {
    let ping = async {
        let client = redis::Client::open(url)?;
        let mut link = client.get_multiplexed_async_connection().await?;
        // While it loads its file it answers with an error.
        redis::cmd("PING").query_async::<String>(&mut link).await
    };
    matches!(tokio::time::timeout(SERVER_PROBE_MAX, ping).await, Ok(Ok(_)))
}
