//! Runs the binary `im` in a folder of its own.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A manifest without a component: every path is unknown.
pub const EMPTY: &str = "spin_manifest_version = 2\n[application]\nname = \"empty\"\n";
/// How long anything here may take before it counts as hung.
const HUNG: Duration = Duration::from_secs(60);

/// A folder with a manifest.
pub struct Folder(TempDir);

impl Folder {
    pub fn new(manifest: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("spin.toml", manifest);
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_im"));
        command.current_dir(self.0.path()).args(arguments);
        for (name, _) in std::env::vars_os() {
            if ["SPIN_", "IM_"].iter().any(|ours| name.to_string_lossy().starts_with(ours)) {
                command.env_remove(name);
            }
        }
        command
    }

    /// Runs a command to its end.
    pub fn im(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that must fail; its code and its one line.
    pub fn fails(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.im(arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        let last = text.lines().last().unwrap_or_default().to_owned();
        assert!(last.starts_with("im: "), "{text}");
        assert_eq!(output.stdout, b"", "nothing but results goes to stdout");
        (output.status.code().unwrap(), last)
    }

    /// Starts the app and waits until it serves.
    pub fn up(&self, arguments: &[&str]) -> Up {
        let mut command = self.command(&["up", "--listen", "127.0.0.1:0"]);
        command.args(arguments);
        command.stdout(Stdio::piped());
        command.stderr(std::fs::File::create(self.path("stderr")).unwrap());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().split("http://").nth(1);
        let address = address.unwrap_or_else(|| panic!("no address in {line:?}: {}", self.stderr()));
        Up { child, address: address.to_owned() }
    }

    /// What the app wrote on stderr.
    pub fn stderr(&self) -> String {
        std::fs::read_to_string(self.path("stderr")).unwrap_or_default()
    }

    /// Waits until stderr has a line with these words.
    pub fn stderr_with(&self, words: &str) -> String {
        let begun = Instant::now();
        while begun.elapsed() < HUNG {
            if let Some(line) = self.stderr().lines().find(|line| line.contains(words)) {
                return line.to_owned();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no {words:?} in {:?}", self.stderr());
    }
}

/// A running app, killed when dropped.
pub struct Up {
    child: Child,
    pub address: String,
}

impl Up {
    /// Sends a whole request and returns the whole answer.
    pub fn exchange(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(HUNG)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub fn get(&self, path: &str) -> Answer {
        Answer::parse(&self.exchange(&format!(
            "GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer SECRET\r\nconnection: close\r\n\r\n"
        )))
    }

    /// Sends a signal by name, and waits for the end; its exit code.
    pub fn stop(self, signal: &str) -> Option<i32> {
        kill(signal, &self.child.id().to_string());
        self.ended()
    }

    /// Waits for the end; its exit code.
    pub fn ended(mut self) -> Option<i32> {
        let begun = Instant::now();
        while begun.elapsed() < HUNG {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("still running");
    }
}

/// Sends a process a signal by name.
pub fn kill(signal: &str, pid: &str) {
    let kill = format!("kill -{signal} {pid}");
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An HTTP answer, taken apart.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Asserts that the answer is a whole problem document, and returns its code.
    pub fn problem(&self) -> String {
        assert!(self.head.contains("content-type: application/problem+json"), "{}", self.head);
        let length = format!("content-length: {}", self.body.len());
        assert!(self.head.contains(&length), "{}", self.head);
        let document: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(document["status"], self.status);
        document["code"].as_str().unwrap().to_owned()
    }
}

/// Writes a component given as text.
pub fn write_component(file: &Path, text: &str) {
    std::fs::write(file, wat::parse_str(text).unwrap()).unwrap();
}
