//! `im up` without a real component: where it listens, what it answers by itself, what it logs, how
//! it ends. The app itself is tried by the black-box suite.

#![cfg(test)]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use support::{Answer, EMPTY, Folder, Up, write_component};

/// A component that answers HTTP with a trap.
const TRAP: &str = include_str!("guest/trap.wat");

const TRAP_MANIFEST: &str = r#"
spin_manifest_version = 2
[application]
name = "trap"
[[trigger.http]]
route = "/one/..."
component = "one"
[[trigger.http]]
route = "/two"
component = "two"
[component.one]
source = "trap.wasm"
[component.two]
source = "trap.wasm"
"#;

fn trapping() -> Folder {
    let folder = Folder::new(TRAP_MANIFEST);
    write_component(&folder.path("trap.wasm"), TRAP);
    folder
}

#[test]
fn an_unknown_path_is_a_problem_document() {
    let folder = Folder::new(EMPTY);
    let up = folder.up(&[]);
    let answer = up.get("/nowhere?token=SECRET");
    assert_eq!((answer.status, answer.problem().as_str()), (404, "not_found"));
}

#[test]
fn a_log_line_is_json_without_secrets() {
    let folder = Folder::new(EMPTY);
    let up = folder.up(&[]);
    up.get("/nowhere?token=SECRET");
    let line = folder.stderr_with("/nowhere");
    assert!(!folder.stderr().contains("SECRET"), "{}", folder.stderr());
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["method"], "GET");
    assert_eq!(line["path"], "/nowhere");
    assert_eq!(line["status"], 404);
}

#[test]
fn the_log_can_be_silenced() {
    let folder = Folder::new(EMPTY);
    let up = folder.up(&["--log", "off"]);
    up.get("/nowhere");
    assert_eq!(up.stop("TERM"), Some(0));
    assert!(!folder.stderr().contains("/nowhere"), "{}", folder.stderr());
}

#[test]
fn a_trap_is_a_problem_and_names_its_component() {
    let folder = trapping();
    let up = folder.up(&[]);
    for _ in 0..2 {
        let answer = up.get("/one/x");
        assert_eq!((answer.status, answer.problem().as_str()), (500, "internal"));
    }
    assert!(folder.stderr_with("component `one` failed").contains("unreachable"));
    let line = folder.stderr_with("\"path\":\"/one/x\"");
    assert!(line.contains("\"component\":\"one\"") && line.contains("\"status\":500"), "{line}");
}

#[test]
fn only_named_components_are_served() {
    let folder = trapping();
    let up = folder.up(&["--component", "two"]);
    assert_eq!(up.get("/one").status, 404);
    assert_eq!(up.get("/two").status, 500);
}

#[test]
fn a_body_that_is_too_large_is_refused_unread() {
    let folder = trapping();
    let up = folder.up(&[]);
    let answer =
        Answer::parse(&up.exchange(
            "POST /two HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 16777217\r\n\r\n",
        ));
    assert_eq!((answer.status, answer.problem().as_str()), (413, "too_large"));
}

#[test]
fn a_request_without_a_host_is_refused() {
    let folder = trapping();
    let up = folder.up(&[]);
    let answer = Answer::parse(&up.exchange("GET /two HTTP/1.1\r\nconnection: close\r\n\r\n"));
    assert_eq!((answer.status, answer.problem().as_str()), (400, "invalid_request"));
}

#[test]
fn each_signal_ends_it_well() {
    for signal in ["TERM", "INT"] {
        let folder = Folder::new(EMPTY);
        let up = folder.up(&[]);
        assert_eq!(up.stop(signal), Some(0));
        folder.stderr_with("im: stopping");
    }
}

#[test]
fn idle_connections_do_not_hold_up_the_end() {
    let folder = Folder::new(EMPTY);
    let up = folder.up(&[]);
    let _silent = TcpStream::connect(&up.address).unwrap();
    let mut kept = TcpStream::connect(&up.address).unwrap();
    kept.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    assert!(kept.read(&mut [0; 64]).unwrap() > 0);
    let begun = Instant::now();
    assert_eq!(up.stop("TERM"), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn a_port_in_use_is_told() {
    let folder = Folder::new(EMPTY);
    let up: Up = folder.up(&[]);
    let (code, line) = folder.fails(&["up", "--listen", &up.address]);
    assert_eq!(code, 1);
    assert!(line.contains(&up.address) && line.contains("--listen"), "{line}");
}
