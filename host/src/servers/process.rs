//! One running server.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::process::{Child, Command};

use super::{ServersError, folder};
use crate::limits::{SERVER_READY_MAX, SERVER_STOP_MAX};
use crate::output;

/// How often a server that starts or ends is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A server that we started.
pub struct Process {
    name: &'static str,
    child: Child,
    stop_signal: Signal,
    log: PathBuf,
}

impl Process {
    /// Starts a server; what it prints goes to a file.
    pub fn start(
        name: &'static str,
        mut command: Command,
        stop_signal: Signal,
        log: PathBuf,
    ) -> Result<Self, ServersError> {
        let out = File::create(&log).map_err(ServersError::io(format!("cannot write {}", log.display())))?;
        let err = out.try_clone().map_err(ServersError::io("no file handle"))?;
        let child = command.stdout(out).stderr(err).kill_on_drop(true).spawn();
        let child = child.map_err(ServersError::io(format!("cannot run {name}")))?;
        Ok(Self { name, child, stop_signal, log })
    }

    /// Waits until the server answers. One that does not is stopped.
    pub async fn ready(mut self, answers: impl AsyncFn() -> bool) -> Result<Self, ServersError> {
        let begun = Instant::now();
        let not_started = |why| ServersError::NotStarted { name: self.name, why };
        loop {
            if let Ok(Some(_)) = self.child.try_wait() {
                return Err(not_started(folder::last_line(&self.log)));
            }
            if answers().await {
                return Ok(self);
            }
            if begun.elapsed() > SERVER_READY_MAX {
                let error = not_started(format!("no answer within {} s", SERVER_READY_MAX.as_secs()));
                self.stop().await;
                return Err(error);
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Waits until the server ends of itself; says why, as far as it is known.
    pub async fn ended(&mut self) -> ServersError {
        // That it cannot be waited for means that it is gone, too.
        let _ = self.child.wait().await;
        ServersError::Ended { name: self.name, why: folder::last_line(&self.log) }
    }

    /// Tells the server to end, and waits for that.
    pub async fn stop(mut self) {
        let id = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let Some(id) = id else {
            return;
        };
        let _ = kill_process(id, self.stop_signal);
        if tokio::time::timeout(SERVER_STOP_MAX, self.child.wait()).await.is_err() {
            output::error_line(&format!("{} did not end in time and is killed", self.name));
            let _ = self.child.kill().await;
        }
    }
}

/// A port of this machine that nobody listens on.
pub fn free_port() -> Result<u16, ServersError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(ServersError::NoPort)?;
    listener.local_addr().map(|address| address.port()).map_err(ServersError::NoPort)
}

/// Ends a server that an `im` which was killed has left behind: two on the same data would ruin it.
/// The file holds its process id on the first line; the server runs in the folder.
pub async fn end_orphan(
    name: &'static str,
    pid_file: &Path,
    folder: &Path,
    signal: Signal,
) -> Result<(), ServersError> {
    let Some(id) = orphan(pid_file, folder) else {
        return Ok(());
    };
    output::error_line(&format!("ending {name}, which an earlier im has left"));
    let _ = kill_process(id, signal);
    let begun = Instant::now();
    while test_kill_process(id).is_ok() {
        if begun.elapsed() > SERVER_STOP_MAX {
            let why = format!("an earlier one, process {}, does not end", id.as_raw_nonzero());
            return Err(ServersError::NotStarted { name, why });
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
    Ok(())
}

/// The process named in the file, if it is a server in this folder and not another that has its
/// number by now.
fn orphan(pid_file: &Path, folder: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(pid_file).ok()?;
    let id: i32 = text.lines().next()?.trim().parse().ok()?;
    let runs_in = std::fs::read_link(format!("/proc/{id}/cwd")).ok()?;
    (runs_in == folder).then_some(Pid::from_raw(id)?)
}
