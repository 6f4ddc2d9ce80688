//! A process that ends with this value, and, by the kernel's hand, with this program.

use crate::failure::{Doing, Outcome, fail};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a process may take to be ready: `im` compiles its components first.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// How long a process may take to end before it is killed.
const END_WITHIN: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(30);

pub struct Process {
    child: Child,
    stop: Signal,
    log: PathBuf,
}

impl Process {
    /// Starts a process that `stop` ends; what it prints goes to a file.
    pub fn start(name: &str, mut command: Command, stop: Signal, folder: &Path) -> Outcome<Self> {
        let log = folder.join(format!("{name}.log"));
        let out = File::create(&log).doing(|| log.display().to_string())?;
        let err = out.try_clone()?;
        let child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn();
        let child = child.doing(|| format!("{name} cannot be started"))?;
        Ok(Self { child, stop, log })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for something to be there.
    pub async fn wait_for<T>(&mut self, mut look: impl AsyncFnMut() -> Option<T>) -> Outcome<T> {
        let begun = Instant::now();
        loop {
            if let Some(found) = look().await {
                return Ok(found);
            }
            if self.child.try_wait()?.is_some() || begun.elapsed() > READY_WITHIN {
                return fail(format!("it ended or does not answer; it said: {}", self.printed().trim()));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// The first address `127.0.0.1:PORT` that it prints.
    pub async fn address(&mut self) -> Outcome<String> {
        let log = self.log.clone();
        self.wait_for(async || address_in(&fs::read_to_string(&log).ok()?)).await
    }

    /// Everything it has printed so far.
    pub fn printed(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The last line that it printed.
    pub fn last_line(&self) -> String {
        self.printed().lines().last().unwrap_or_default().to_owned()
    }

    fn has_ended_within(&mut self, limit: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < limit {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(POLL);
        }
        false
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(id) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(id, self.stop);
        }
        if !self.has_ended_within(END_WITHIN) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn address_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("http://127.0.0.1:")?;
    let (line, _) = rest.split_once('\n')?;
    let port: String = line.chars().take_while(char::is_ascii_digit).collect();
    (!port.is_empty()).then(|| format!("127.0.0.1:{port}"))
}

/// A command that gets `signal` when this program ends, however it does, and that runs as another user
/// where one is named.
pub fn bound(signal: &str, user: Option<&str>, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", signal]);
    if let Some(user) = user {
        command.args(["--reuid", user, "--regid", user, "--clear-groups"]);
    }
    command.arg("--").arg(program).current_dir("/");
    // Where a developer's shell asks for them, backtraces are taken of errors that nobody sees.
    command.env_remove("RUST_BACKTRACE").env_remove("RUST_LIB_BACKTRACE");
    command
}

/// Runs a command to its end and gives what it printed.
pub fn output(mut command: Command) -> Outcome<String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.doing(|| format!("{} cannot be run", command.get_program().to_string_lossy()))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return fail(format!("{}: {}", command.get_program().to_string_lossy(), reason.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A port that nobody listens on.
pub fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
