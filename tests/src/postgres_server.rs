//! A private PostgreSQL: a cluster in a scratch folder, that can be killed and started again on the
//! same data and port. It does not flush to the disk: processes die here, machines do not.

use crate::process::{Process, Signal};
use crate::{ports, scratch, sql};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Where Debian keeps it, a folder for each major version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// Who owns the databases.
const ROLE: &str = "im";
/// The user it runs as when we are root, which it refuses.
const USER: &str = "postgres";
/// How long it may take to answer: it may have to recover first.
const READY_WITHIN: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(30);

static SHARED: LazyLock<PostgresServer> = LazyLock::new(PostgresServer::start);
static DATABASES: AtomicUsize = AtomicUsize::new(0);

pub struct PostgresServer {
    /// Absent while it is down.
    process: Option<Process>,
    folder: PathBuf,
    port: u16,
}

impl PostgresServer {
    /// The one whose databases the servers of this process share out among them.
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// One of a test's own, to stop and to break.
    pub fn start() -> Self {
        let folder = scratch::folder();
        initialize(&folder);
        let mut server = Self { process: None, folder, port: ports::free() };
        server.start_again();
        server
    }

    /// Makes an empty database and gives its address.
    pub fn new_database(&self) -> String {
        let name = format!("im_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        sql::run(&self.url("postgres"), &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self, database: &str) -> String {
        url(self.port, database)
    }

    /// Ends it; the data stay.
    pub fn stop(&mut self, signal: Signal) {
        self.process.take().expect("PostgreSQL runs").end(signal);
    }

    /// Starts it, on the data and the port it had, and waits until it answers. The processes of one
    /// that was killed take a moment to go, and keep it from starting as long as they are there.
    pub fn start_again(&mut self) {
        assert!(self.process.is_none(), "PostgreSQL runs already");
        let began = Instant::now();
        let mut process = launch(&self.folder, self.port);
        while sql::try_run(&self.url("postgres"), "SELECT 1").is_err() {
            assert!(began.elapsed() < READY_WITHIN, "PostgreSQL does not answer: {:#?}", process.printed());
            std::thread::sleep(POLL);
            if process.ended() {
                process.end(Signal::Quit);
                process = launch(&self.folder, self.port);
            }
        }
        self.process = Some(process);
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if self.process.take().is_none() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Where a database is, at a server on this port or at a proxy to one.
pub fn url(port: u16, database: &str) -> String {
    format!("postgres://{ROLE}@127.0.0.1:{port}/{database}?sslmode=disable")
}

fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

fn initialize(folder: &Path) {
    let data = data(folder);
    fs::create_dir(&data).expect("the folder takes folders");
    let [first, rest @ ..] = &command("initdb")[..] else { unreachable!("a command has a program") };
    if is_root() {
        let given = Command::new("chown").arg(format!("{USER}:")).arg(&data).status();
        assert!(given.is_ok_and(|status| status.success()), "no user {USER}: install postgresql");
    }
    let mut initdb = Command::new(first);
    initdb.args(rest).arg("-D").arg(&data).current_dir("/");
    initdb.args(["--username", ROLE, "--auth=trust", "--encoding=UTF8", "--locale=C"]);
    let output = initdb.args(["--no-instructions", "--no-sync"]).output().expect("initdb can be run");
    assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
}

fn launch(folder: &Path, port: u16) -> Process {
    let settings = [
        "listen_addresses=127.0.0.1".to_owned(),
        format!("port={port}"),
        "unix_socket_directories=".to_owned(),
        // Several hosts with four pools of 64 each.
        "max_connections=1000".to_owned(),
        "fsync=off".to_owned(),
    ];
    let mut words = command("postgres");
    words.extend(["-D".to_owned(), data(folder).display().to_string()]);
    words.extend(settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]));
    let program = words.remove(0);
    Process::start_ending(Path::new(&program), &words, Path::new("/"), folder, Signal::Quit)
}

/// How one of its programs is called: not as root.
fn command(program: &str) -> Vec<String> {
    let program = programs().join(program).display().to_string();
    if !is_root() {
        return vec![program];
    }
    let user = ["--reuid", USER, "--regid", USER, "--clear-groups", "--"];
    ["setpriv"].into_iter().chain(user).map(str::to_owned).chain([program]).collect()
}

/// The folder with the programs of the newest version.
fn programs() -> PathBuf {
    let entries = fs::read_dir(VERSIONS).expect("PostgreSQL is installed: apt install postgresql");
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = entries.filter_map(|entry| Some(entry.ok()?.path())).max_by_key(number);
    newest.expect("PostgreSQL is installed: apt install postgresql").join("bin")
}

fn is_root() -> bool {
    // The owner of what this process makes is this process's user.
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}
