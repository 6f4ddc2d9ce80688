//! One server, started through a shell that stays beside it: the shell ends it and removes its
//! scratch folder when its own input closes, that is, however this process comes to its end.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// `$1` is the scratch folder, `$2` the signal that ends the server when nobody has said another, the
/// rest the command. Reads the name of a signal from its input.
const GUARD: &str = r#"
scratch=$1; last=$2; shift 2
"$@" 2>&1 &
pid=$!
exec >/dev/null 2>&1
trap '' INT HUP
read -r signal
kill -s "${signal:-$last}" "$pid"
wait "$pid"
[ -n "$signal" ] || rm -rf "$scratch"
"#;

/// How long a process may take to print its address, or to end when told to.
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug)]
pub enum Signal {
    Kill,
    Term,
    /// PostgreSQL ends its sessions, writes what it holds, and ends.
    Int,
    /// PostgreSQL ends at once, with all its processes.
    Quit,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Kill => "KILL",
            Self::Term => "TERM",
            Self::Int => "INT",
            Self::Quit => "QUIT",
        }
    }
}

#[derive(Default)]
struct Output {
    lines: Vec<String>,
    ended: bool,
}

pub struct Process {
    guard: Child,
    orders: Option<ChildStdin>,
    output: Arc<Mutex<Output>>,
}

impl Process {
    /// Runs `program` in `folder`; `scratch` is removed when this value, or this process, goes.
    pub fn start(program: &Path, args: &[String], folder: &Path, scratch: &Path) -> Self {
        Self::start_ending(program, args, folder, scratch, Signal::Kill)
    }

    /// The same; `last` ends it when this value, or this process, goes.
    pub fn start_ending(
        program: &Path,
        args: &[String],
        folder: &Path,
        scratch: &Path,
        last: Signal,
    ) -> Self {
        let mut guard = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .arg(scratch)
            .arg(last.name())
            .arg(program)
            .args(args)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh cannot be started");
        let orders = guard.stdin.take();
        let output = Arc::new(Mutex::new(Output::default()));
        let source = BufReader::new(guard.stdout.take().expect("stdout is piped"));
        std::thread::spawn({
            let output = Arc::clone(&output);
            move || collect(source, &output)
        });
        Self { guard, orders, output }
    }

    /// Whether it has come to its end by itself.
    pub fn ended(&self) -> bool {
        self.output.lock().expect("no reader panics").ended
    }

    /// The first `http://…` address the process prints.
    pub fn address(&self) -> String {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            {
                let output = self.output.lock().expect("no reader panics");
                if let Some(url) = output.lines.iter().find_map(|line| address_in(line)) {
                    return url;
                }
                assert!(!output.ended, "the server ended: {:#?}", output.lines);
            }
            std::thread::sleep(POLL);
        }
        panic!("no address within {PATIENCE:?}: {:#?}", self.printed());
    }

    pub fn printed(&self) -> Vec<String> {
        self.output.lock().expect("no reader panics").lines.clone()
    }

    /// Ends the process and keeps its scratch folder.
    pub fn end(mut self, signal: Signal) {
        let mut orders = self.orders.take().expect("only `end` and `drop` take it");
        writeln!(orders, "{}", signal.name()).expect("the guard reads");
        drop(orders);
        self.wait();
    }

    fn wait(&mut self) {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if self.guard.try_wait().expect("the guard can be waited for").is_some() {
                return;
            }
            std::thread::sleep(POLL);
        }
        if !std::thread::panicking() {
            panic!("the server did not end within {PATIENCE:?}: {:#?}", self.printed());
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.orders.take());
        self.wait();
    }
}

fn collect(source: impl BufRead, output: &Mutex<Output>) {
    for line in source.split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        output.lock().expect("no reader panics").lines.push(line);
    }
    output.lock().expect("no reader panics").ended = true;
}

fn address_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("http://127.0.0.1:")?;
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (!port.is_empty() && port != "0").then(|| format!("http://127.0.0.1:{port}"))
}
