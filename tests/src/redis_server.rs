//! A private Redis with an append-only file in a scratch folder, that can be killed, started again on
//! the same data and port, wiped, put back to an older copy, and given another time.

use crate::process::{Process, Signal};
use crate::scratch::Scratch;
use crate::{ports, scratch};
use redis::{Cmd, Connection, FromRedisValue};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long it may take to answer: it may have to load its file first.
const READY_WITHIN: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(30);
/// Where Debian's package `faketime` puts the library, below `/usr/lib/<machine>/`.
const FAKETIME: &str = "faketime/libfaketimeMT.so.1";

/// When a write is flushed to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    Everysec,
    Always,
}

impl Fsync {
    pub fn name(self) -> &'static str {
        match self {
            Self::Everysec => "everysec",
            Self::Always => "always",
        }
    }
}

pub struct RedisServer {
    /// Absent while it is down.
    process: Option<Process>,
    folder: PathBuf,
    port: u16,
    fsync: Fsync,
    /// The library that gives it another time.
    faketime: Option<PathBuf>,
}

impl RedisServer {
    pub fn start(fsync: Fsync) -> Self {
        Self::start_with(fsync, None)
    }

    /// One whose clock can be set; none, with a word, where the library for that is not installed.
    pub fn start_with_clock(fsync: Fsync) -> Option<Self> {
        let machines = fs::read_dir("/usr/lib").expect("/usr/lib can be read");
        let found = machines.filter_map(|entry| Some(entry.ok()?.path().join(FAKETIME)));
        let Some(library) = found.into_iter().find(|file| file.is_file()) else {
            println!("skipped: libfaketime is not installed (apt install libfaketime)");
            return None;
        };
        Some(Self::start_with(fsync, Some(library)))
    }

    fn start_with(fsync: Fsync, faketime: Option<PathBuf>) -> Self {
        let folder = scratch::folder();
        fs::create_dir(folder.join("data")).expect("the folder takes folders");
        let mut server = Self { process: None, folder, port: ports::free(), fsync, faketime };
        server.set_clock(0);
        server.start_again();
        server
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        url(self.port)
    }

    /// Runs one command, past the product.
    #[track_caller]
    pub fn run<T: FromRedisValue>(&self, command: &Cmd) -> T {
        command.query(&mut self.connect().expect("Redis answers")).expect("the command is good")
    }

    fn connect(&self) -> redis::RedisResult<Connection> {
        redis::Client::open(self.url())?.get_connection_with_timeout(Duration::from_secs(5))
    }

    /// Ends it; the data stay.
    pub fn stop(&mut self, signal: Signal) {
        self.process.take().expect("Redis runs").end(signal);
    }

    /// Starts it, on the data and the port it had, and waits until it answers.
    pub fn start_again(&mut self) {
        assert!(self.process.is_none(), "Redis runs already");
        let process = self.launch();
        let began = Instant::now();
        let answers = || {
            let mut connection = self.connect().ok()?;
            redis::cmd("PING").query::<String>(&mut connection).ok()
        };
        while answers().is_none() {
            let alive = !process.ended() && began.elapsed() < READY_WITHIN;
            assert!(alive, "Redis does not answer: {:#?}", process.printed());
            std::thread::sleep(POLL);
        }
        self.process = Some(process);
    }

    /// Takes all data away while it runs.
    pub fn flush_all(&self) {
        self.run(redis::cmd("FLUSHALL").arg("SYNC"))
    }

    /// Copies its files as they lie, while it runs or not.
    pub fn copy(&self) -> Scratch {
        let copy = Scratch::new();
        copy_all(&self.data(), copy.path());
        copy
    }

    /// Puts an older copy in the place of its files, while it is down.
    pub fn restore(&mut self, copy: &Scratch) {
        assert!(self.process.is_none(), "Redis runs");
        fs::remove_dir_all(self.data()).expect("the data can be removed");
        fs::create_dir(self.data()).expect("the folder takes folders");
        copy_all(copy.path(), &self.data());
    }

    /// Sets its clock to so many seconds from now, below 0 back, at once.
    pub fn set_clock(&self, seconds: i64) {
        let (new, file) = (self.folder.join("clock.new"), self.folder.join("clock"));
        fs::write(&new, format!("{seconds:+}s\n")).expect("the folder takes files");
        fs::rename(&new, &file).expect("the file can be replaced");
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn launch(&self) -> Process {
        let mut words: Vec<String> = Vec::new();
        if let Some(library) = &self.faketime {
            // The C library's own memory in the place of jemalloc's, which asks for the time before
            // the other library is ready to tell it.
            words.push(format!("LD_PRELOAD={}:libc.so.6", library.display()));
            words.push(format!("FAKETIME_TIMESTAMP_FILE={}", self.folder.join("clock").display()));
            words.extend(["FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"].map(str::to_owned));
        }
        words.push("redis-server".to_owned());
        let (port, data) = (self.port.to_string(), self.data().display().to_string());
        let settings = [
            ["--bind", "127.0.0.1"],
            ["--port", &port],
            ["--dir", &data],
            ["--save", ""],
            ["--appendonly", "yes"],
            ["--appendfsync", self.fsync.name()],
            // The file only grows, so that a copy of it is one of some moment.
            ["--auto-aof-rewrite-percentage", "0"],
        ];
        words.extend(settings.concat().into_iter().map(str::to_owned));
        Process::start(Path::new("env"), &words, Path::new("/"), &self.folder)
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        if self.process.take().is_none() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Where a Redis is, on this port or behind a proxy on it.
pub fn url(port: u16) -> String {
    format!("redis://127.0.0.1:{port}")
}

fn copy_all(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status();
    assert!(status.is_ok_and(|status| status.success()), "cp {} {}", from.display(), to.display());
}
