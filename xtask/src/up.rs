//! Builds and runs the app, and shows how to try it.

use crate::build;
use crate::step::{Failure, Outcome, im, output, root};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const LISTEN_DEFAULT: &str = "127.0.0.1:3000";
const DATA_DEFAULT: &str = ".im";
/// How long the app may take until it answers. The first start compiles the components.
const START_TIMEOUT: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub fn up(options: &[String]) -> Outcome {
    build::build()?;
    let listen = option(options, "--listen").unwrap_or(LISTEN_DEFAULT);
    let data = option(options, "--data").unwrap_or(DATA_DEFAULT);
    println!("==> im up");
    let mut host = Command::new(im())
        .current_dir(root())
        .arg("up")
        .args(options)
        .spawn()
        .map_err(|error| Failure(format!("cannot run im: {error}")))?;
    if answers(&mut host, listen)? {
        print_trial(listen, data)?;
    }
    let status = host.wait().map_err(|error| Failure(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(Failure(format!("im up failed ({status})"))) }
}

/// The value of an option, as `--name VALUE` or `--name=VALUE`.
fn option<'a>(options: &'a [String], name: &str) -> Option<&'a str> {
    let joined = format!("{name}=");
    options.iter().enumerate().find_map(|(at, option)| match option.strip_prefix(&joined) {
        Some(value) => Some(value),
        None if option == name => options.get(at + 1).map(String::as_str),
        None => None,
    })
}

/// Waits until the app answers; false when it ended before.
fn answers(host: &mut Child, listen: &str) -> Outcome<bool> {
    let begin = Instant::now();
    while begin.elapsed() < START_TIMEOUT {
        if host.try_wait().map_err(|error| Failure(error.to_string()))?.is_some() {
            return Ok(false);
        }
        if is_healthy(listen) {
            return Ok(true);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let _ended = host.kill();
    Err(Failure(format!("the app did not answer on {listen} within {} s", START_TIMEOUT.as_secs())))
}

fn is_healthy(listen: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(listen) else { return false };
    let request = format!("GET /api/health HTTP/1.1\r\nhost: {listen}\r\nconnection: close\r\n\r\n");
    let mut answer = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200")
}

fn print_trial(listen: &str, data: &str) -> Outcome {
    let alice = token("alice", "laptop", data)?;
    let bob = token("bob", "phone", data)?;
    let call = |token: &str, path: &str, body: &str| {
        format!(
            "curl -s http://{listen}{path} -H \"Authorization: Bearer ${token}\" -H 'Content-Type: application/json' -d '{body}'"
        )
    };
    let create = r#"{"conversationId":"team","type":"group","members":["bob"]}"#;
    let send = r#"{"conversationId":"team","clientMsgId":"a-1","type":"text","content":"hello"}"#;
    println!(
        "\nTry it from another terminal (the tokens are good for a day):\n\n\
        ALICE={alice}\n\
        BOB={bob}\n\n\
        {}\n\
        {}\n\
        {}\n\
        {}\n\n\
        Ctrl-C stops the app; its data stays in {data}/.\n",
        call("ALICE", "/api/conversation/create", create),
        call("ALICE", "/api/msg/send", send),
        call("BOB", "/api/msg/pull", r#"{"conversationId":"team"}"#),
        call("BOB", "/api/msg/sync", r#"{"conversationId":"team"}"#),
    );
    Ok(())
}

fn token(user: &str, device: &str, data: &str) -> Outcome<String> {
    let arguments =
        ["token", "--tenant", "demo", "--user", user, "--device", device, "--ttl", "86400", "--data", data];
    output(Command::new(im()).current_dir(root()).args(arguments))
}
