//! A Redis server of one test, which loses everything when it ends, unless it was started to keep it. Its
//! clock is the machine's, or stands still where the test has set it, by way of libfaketime.

use super::block_on;
use super::guard::{Guard, folder, free_port};
use im_store::arguments;
use im_store::native::NativeRedis;
use im_store::redis::{Argument, Redis, RedisError, Value};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const CLOCK: &str = "clock";
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);

pub struct RedisServer {
    guard: Guard,
    url: String,
}

impl RedisServer {
    /// With the clock at `now_ms`, milliseconds since 1970, or with that of the machine.
    pub fn start(now_ms: Option<u64>) -> Self {
        Self::start_with(now_ms, &["--appendonly", "no"])
    }

    /// One that keeps what it holds; `fsync` says when it reaches the disk: `everysec` or `always`.
    pub fn keeping(fsync: &str) -> Self {
        Self::start_with(None, &["--appendonly", "yes", "--appendfsync", fsync])
    }

    fn start_with(now_ms: Option<u64>, keep: &[&str]) -> Self {
        loop {
            let folder = folder("redis");
            if let Some(now_ms) = now_ms {
                write_clock(&folder, now_ms);
            }
            let port = free_port();
            let url = format!("redis://127.0.0.1:{port}");
            let command = command(&folder, port, now_ms.is_some(), keep);
            let server = Self { guard: Guard::start(folder, "KILL", &command), url };
            if server.guard.answers(|| server.is_itself()) {
                return server;
            }
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn set_clock(&self, now_ms: u64) {
        write_clock(self.guard.folder(), now_ms);
    }

    /// Ends the server at once, as a crash would.
    pub fn kill(&mut self) {
        self.guard.end_server();
        let began = Instant::now();
        while self.is_itself() {
            assert!(began.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(POLL);
        }
    }

    /// Starts the server that was killed, at the same address and on what it has kept.
    pub fn start_again(&mut self) {
        loop {
            self.guard.start_server();
            if self.guard.answers(|| self.is_itself()) {
                return;
            }
        }
    }

    pub fn restart(&mut self) {
        self.kill();
        self.start_again();
    }

    /// A copy of what the server has kept so far.
    pub fn copy(&self) -> TempDir {
        let copy = TempDir::new().unwrap();
        copy_files(&self.kept(), copy.path());
        copy
    }

    /// Puts a copy in the place of what the server has kept; it must not be running.
    pub fn put_back(&self, copy: &TempDir) {
        std::fs::remove_dir_all(self.kept()).unwrap();
        std::fs::create_dir(self.kept()).unwrap();
        copy_files(copy.path(), &self.kept());
    }

    fn kept(&self) -> PathBuf {
        self.guard.folder().join("appendonlydir")
    }

    /// Whether it is this server that answers, and not another that has taken the port.
    fn is_itself(&self) -> bool {
        let folder = self.guard.folder().to_str().unwrap().as_bytes().to_vec();
        let answer = command_at(&self.url, "CONFIG", arguments!["GET", "dir"]);
        answer.is_ok_and(|reply| reply.contains(&Value::Bytes(folder)))
    }
}

/// Runs one command on a connection of its own.
pub fn command_at(url: &str, name: &str, arguments: Vec<Argument>) -> Result<Vec<Value>, RedisError> {
    block_on(NativeRedis::new(url)?.command(name, arguments))
}

fn copy_files(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

fn command(folder: &Path, port: u16, clocked: bool, keep: &[&str]) -> Vec<String> {
    let mut words = vec!["env".to_owned()];
    if clocked {
        words.extend([
            // Redis's own allocator looks at the clock while libfaketime wants memory to begin with.
            format!("LD_PRELOAD={}:libc.so.6", faketime().display()),
            format!("FAKETIME_TIMESTAMP_FILE={}", folder.join(CLOCK).display()),
            "FAKETIME_NO_CACHE=1".to_owned(),
            "FAKETIME_DONT_FAKE_MONOTONIC=1".to_owned(),
            "TZ=UTC".to_owned(),
        ]);
    }
    words.extend(["redis-server", "--bind", "127.0.0.1", "--save", ""].map(str::to_owned));
    words.extend(keep.iter().map(|word| (*word).to_owned()));
    words.extend(["--port".to_owned(), port.to_string(), "--dir".to_owned(), folder.display().to_string()]);
    words
}

fn faketime() -> PathBuf {
    let machines = std::fs::read_dir("/usr/lib").unwrap().flatten();
    let mut files = machines.map(|machine| machine.path().join("faketime/libfaketime.so.1"));
    files.find(|file| file.exists()).expect("libfaketime is not installed")
}

/// In one step: the server reads the file whenever it looks at the clock.
fn write_clock(folder: &Path, now_ms: u64) {
    let time = Duration::from_millis(now_ms);
    let (days, second) = (time.as_secs() / 86_400, time.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let millis = time.subsec_millis();
    let text = format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{millis:03}\n");
    let unfinished = folder.join("clock.new");
    std::fs::write(&unfinished, text).unwrap();
    std::fs::rename(unfinished, folder.join(CLOCK)).unwrap();
}

/// Year, month and day of a count of days since 1970-01-01.
fn date(mut days: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let months = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= months[month] {
        days -= months[month];
        month += 1;
    }
    (year, month as u64 + 1, days + 1)
}
