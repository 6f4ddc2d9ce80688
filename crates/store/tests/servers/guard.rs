//! A server of a test, started through a shell that stays beside it: the shell ends the server and
//! removes its folder when its own input closes, that is, however this process comes to its end.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// `$1` is the folder, `$2` the signal that ends the server, the rest its command. The signal is sent
/// until the server is gone, since one that is still being made may not listen to it. A line of input
/// ends the server, or starts it again.
const SCRIPT: &str = r#"
folder=$1; signal=$2; shift 2
trap '' INT HUP TERM
start() { "$@" >"$folder/log" 2>&1 & pid=$!; }
end() { while [ "$pid" ] && kill -s "$signal" "$pid"; do sleep 0.05; done; pid=; }
start "$@"
while read -r order; do
    case $order in end) end ;; start) end; start "$@" ;; esac
done
end
rm -rf "$folder"
"#;

/// How long a server may take to answer; a machine under load starts slowly.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(10);

pub struct Guard {
    shell: Child,
    /// Closed to end the server.
    input: Option<ChildStdin>,
    folder: PathBuf,
}

impl Guard {
    pub fn start(folder: PathBuf, signal: &str, command: &[String]) -> Self {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "guard"])
            .arg(&folder)
            .arg(signal)
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = shell.stdin.take();
        Self { shell, input, folder }
    }

    /// Ends the server with its signal; the folder stays. Nobody waits for it to be gone.
    pub fn end_server(&mut self) {
        self.order("end\n");
    }

    /// Starts the server that was ended.
    pub fn start_server(&mut self) {
        self.order("start\n");
    }

    fn order(&mut self, line: &str) {
        self.input.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the server answers in time; false when it says that another has its port.
    pub fn answers(&self, mut probe: impl FnMut() -> bool) -> bool {
        let began = Instant::now();
        while !probe() {
            let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            if log.contains("Address already in use") {
                return false;
            }
            assert!(began.elapsed() < PATIENCE, "a server does not answer: {log}");
            std::thread::sleep(POLL);
        }
        true
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.input.take());
        // An error has nobody to be told to here; what is left over shows as a process.
        let _ = self.shell.wait();
    }
}

/// A folder that lives until somebody removes it.
pub fn folder(name: &str) -> PathBuf {
    TempDir::with_prefix(format!("im-{name}-")).unwrap().keep()
}

/// A port of this machine that nobody listens on; somebody may, by the time it is used.
pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}
