//! Builds and runs the app, and shows how to try it.

use crate::build;
use crate::step::{Failure, Outcome, im, output, root};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const DATA_DEFAULT: &str = ".im";
/// What `im up` says once it serves, before the address.
const SERVING: &str = "http://";
/// The variable that would put other keys in the place of the data folder's, with which the printed
/// tokens are signed.
const KEYS_VARIABLE: &str = "SPIN_VARIABLE_JWT_KEYS";

pub fn up(options: &[String]) -> Outcome {
    build::build()?;
    let data = option(options, "--data").unwrap_or(DATA_DEFAULT);
    println!("==> im up");
    let mut host = Command::new(im())
        .current_dir(root())
        .env_remove(KEYS_VARIABLE)
        .arg("up")
        .args(options)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Failure(format!("cannot run im: {error}")))?;
    let lines = host.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines);
    for line in lines.map_while(Result::ok) {
        println!("{line}");
        if let Some(url) = address_in(&line) {
            println!("{}", trial(url, data)?);
        }
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

fn address_in(line: &str) -> Option<&str> {
    line.find(SERVING).and_then(|at| line.get(at..))
}

/// Commands to paste.
fn trial(url: &str, data: &str) -> Outcome<String> {
    let alice = token("alice", "laptop", data)?;
    let bob = token("bob", "phone", data)?;
    let create = r#"{"conversationId":"team","type":"group","members":["bob"]}"#;
    let send = r#"{"conversationId":"team","clientMsgId":"a-1","type":"text","content":"hello"}"#;
    let read = r#"{"conversationId":"team"}"#;
    let calls = [
        call(url, "ALICE", "/api/conversation/create", create),
        call(url, "ALICE", "/api/msg/send", send),
        call(url, "BOB", "/api/msg/pull", read),
        call(url, "BOB", "/api/msg/sync", read),
    ];
    Ok(format!(
        "\nTry it from another terminal (the tokens are good for a day):\n\n\
        ALICE={alice}\n\
        BOB={bob}\n\n\
        {}\n\n\
        Ctrl-C stops the app; its data stays in {data}/.\n",
        calls.join("\n")
    ))
}

fn call(url: &str, token: &str, path: &str, body: &str) -> String {
    format!(
        "curl -s {url}{path} -H \"Authorization: Bearer ${token}\" -H 'Content-Type: application/json' -d '{body}'"
    )
}

fn token(user: &str, device: &str, data: &str) -> Outcome<String> {
    let arguments =
        ["token", "--tenant", "demo", "--user", user, "--device", device, "--ttl", "86400", "--data", data];
    output(Command::new(im()).current_dir(root()).args(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_in_both_spellings() {
        let options = ["--listen=127.0.0.1:0", "--data", "d"].map(str::to_owned);
        assert_eq!(option(&options, "--listen"), Some("127.0.0.1:0"));
        assert_eq!(option(&options, "--data"), Some("d"));
        assert_eq!(option(&options, "--log"), None);
    }

    #[test]
    fn the_address_is_what_the_host_says() {
        assert_eq!(address_in("Serving im-store on http://127.0.0.1:3000"), Some("http://127.0.0.1:3000"));
        assert_eq!(address_in("im: preparing 4 components"), None);
    }
}
