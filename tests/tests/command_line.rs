//! Proves that a person can use the store from a shell: `im token`, `send`, `pull`, `sync`, `status`
//! and `replay` are run to their end against the suite's server, and what they print, where, and
//! their exit codes (0 done, 1 failed, 2 wrong use) are what the README says. Skipped where `IM_URL`
//! is set: the commands need the server's data folder, which holds its key.

use im_tests::command::{Ended, im, im_reading};
use im_tests::samples::Sample;
use im_tests::scratch::Scratch;
use im_tests::server::Server;
use im_tests::shape;
use im_tests::talk::{group, say, texts};
use im_tests::tenant::Tenant;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::time::Duration;

/// A tenant of the suite's server, from a shell.
struct Shell {
    url: String,
    data: String,
    tenant: Tenant,
}

impl Shell {
    fn new(label: &str) -> Option<Self> {
        let server = Server::shared_own()?;
        let data = server.data().display().to_string();
        Some(Self { url: server.base().to_owned(), data, tenant: Tenant::on(server, label) })
    }

    /// `args` and the server, the key and the tenant.
    fn args<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        let own = ["--url", &self.url, "--data", &self.data, "--tenant", &self.tenant.name];
        [args, &own].concat()
    }

    /// A command of the tenant's.
    fn im(&self, args: &[&str]) -> Ended {
        im(&self.args(args))
    }

    /// A command of a user with a phone.
    fn person(&self, user: &str, args: &[&str]) -> Ended {
        self.device(user, "phone", args)
    }

    fn device(&self, user: &str, device: &str, args: &[&str]) -> Ended {
        self.im(&[args, &["--user", user, "--device", device]].concat())
    }

    /// A token as `im token` prints it.
    fn token(&self, args: &[&str]) -> String {
        let own = ["token", "--data", &self.data, "--tenant", &self.tenant.name];
        let ended = im(&[&own, args].concat());
        assert_eq!(ended.quietly().len(), 1, "{ended:?}");
        let token = ended.stdout.strip_suffix('\n').expect("a whole line");
        let is_token = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(token.chars().all(is_token) && token.split('.').count() == 3, "{token:?}");
        token.to_owned()
    }

    /// Messages in all tiers once none is hot alone: while a batch moves it may be counted in both.
    fn kept(&self) -> u64 {
        let tier = |name| shape::int(&self.status()["tiers"], name);
        for _ in 0..600 {
            if tier("hot") == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        ["hot", "sql", "cold"].map(tier).iter().sum()
    }

    fn status(&self) -> Value {
        json_lines(&self.im(&["status", "--json"]).quietly()).remove(0)
    }
}

fn json_lines(lines: &[&str]) -> Vec<Value> {
    lines.iter().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// The figure on the line of a summary that begins with `label`.
#[track_caller]
fn figure(summary: &Ended, label: &str) -> u64 {
    let found = summary.stdout.lines().find_map(|line| line.strip_prefix(label));
    let found = found.unwrap_or_else(|| panic!("no {label}: {summary:?}"));
    found.trim().parse().unwrap_or_else(|_| panic!("{label} is no number: {summary:?}"))
}

/// An address where nobody listens.
fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    format!("http://{}", listener.local_addr().expect("it has an address"))
}

#[tokio::test]
async fn a_token_is_printed_alone_and_the_server_takes_it() {
    let Some(shell) = Shell::new("shell-token") else { return };
    let ann = shell.tenant.bearing(&shell.token(&["--user", "ann", "--device", "phone"]));
    group(&ann, "room", &[]).await;
    say(&ann, "room", "hello").await;
    let page = ann.ok(im_tests::routes::SYNC, json!({"conversationId": "room"})).await;
    assert_eq!(texts(shape::list(&page, "messages")), ["hello"]);
    ann.get(im_tests::routes::STATUS).await.refused("forbidden");
    let service = shell.tenant.bearing(&shell.token(&["--user", "cron", "--scope", "service"]));
    service.get(im_tests::routes::STATUS).await.ok();
    // A token does for the other commands what the key does.
    let token = shell.token(&["--user", "ann"]);
    let sent = im(&["send", "--url", &shell.url, "--token", &token, "--to", "room", "again"]);
    assert_eq!(json_lines(&sent.quietly())[0]["seq"], 2);
}

#[test]
fn what_is_sent_is_pulled() {
    let Some(shell) = Shell::new("shell-pull") else { return };
    let first = shell.person("ann", &["send", "--to-user", "ben", "hello"]);
    let first = json_lines(&first.quietly()).remove(0);
    shape::receipt(&first);
    let chat = shape::text(&first, "conversationId");
    let send =
        |content: &str| shell.person("ben", &["send", "--to", chat, "--client-msg-id", "mine", content]);
    let second = json_lines(&send("-two\n lines 😀").quietly()).remove(0);
    let again = json_lines(&send("-two\n lines 😀").quietly()).remove(0);
    assert_eq!((&again["msgId"], &again["duplicate"]), (&second["msgId"], &true.into()));
    send("other").failed(1, "conflict (409)");
    let args = ["send", "--to", chat, "--user", "ann", "--ack", "persisted", "-"];
    let third = im_reading(&shell.args(&args), "from stdin\n");
    assert_eq!(json_lines(&third.quietly())[0]["ack"], "persisted");

    let wanted = ["hello", "-two\n lines 😀", "from stdin\n"];
    let all = ["pull", chat, "--down", "--json"];
    let whole = shell.person("ben", &all);
    assert_eq!(texts(&json_lines(&whole.quietly())), wanted);
    let pages = shell.person("ben", &[&all[..], &["--limit", "1", "--all"]].concat());
    assert_eq!(pages.quietly(), whole.quietly());
    let page = shell.person("ben", &["pull", chat, "--limit", "1"]);
    let line = page.done().concat();
    assert!(line.contains("  ann  from stdin"), "{page:?}");
    let cursor = page.stderr.trim_end().strip_prefix("im: there is more: --cursor ");
    let cursor = cursor.unwrap_or_else(|| panic!("says how to go on: {page:?}"));
    let older = shell.person("ben", &["pull", chat, "--json", "--cursor", cursor]);
    assert_eq!(texts(&json_lines(&older.quietly())), [wanted[1], wanted[0]]);
    let human = shell.person("ann", &["pull", chat, "--down"]);
    assert_eq!(human.quietly().len(), 4, "a message may have lines: {human:?}");
}

#[test]
fn a_device_syncs_and_confirms_from_the_shell() {
    let Some(shell) = Shell::new("shell-sync") else { return };
    let mut chat = String::new();
    for text in ["1", "2", "3"] {
        let sent = shell.person("ann", &["send", "--to-user", "ben", text]);
        chat = json_lines(&sent.quietly())[0]["conversationId"].as_str().expect("an id").to_owned();
    }
    let sync = |device: &str, args: &[&str]| {
        let ended = shell.device("ben", device, &[&["sync", &chat, "--json"], args].concat());
        (texts(&json_lines(&ended.done())), ended.stderr)
    };
    // Nothing is confirmed by looking.
    let (page, note) = sync("phone", &[]);
    assert_eq!(page, ["1", "2", "3"]);
    assert_eq!(sync("phone", &[]), (page, note.clone()));
    let (page, more) = sync("phone", &["--limit", "2"]);
    assert_eq!(page, ["1", "2"]);
    assert!(more.starts_with("im: there is more; confirm with --cursor "), "{more}");
    let cursor = more.trim_end().rsplit(' ').next().expect("the last word");
    assert_eq!(sync("phone", &["--cursor", cursor]).0, ["3"]);
    assert_eq!(sync("phone", &[]).0, ["3"], "what came before is confirmed");
    let nothing = (Vec::new(), String::new());
    assert_eq!(sync("phone", &["--all"]), (vec!["3".to_owned()], String::new()));
    assert_eq!(sync("phone", &[]), nothing);
    assert_eq!(sync("tablet", &["--all", "--limit", "1"]).0, ["1", "2", "3"]);
    assert_eq!(sync("tablet", &[]), nothing);
}

#[test]
fn the_status_counts_what_is_stored() {
    let Some(shell) = Shell::new("shell-status") else { return };
    assert_eq!(shell.kept(), 0);
    for text in ["1", "2", "3"] {
        shell.person("ann", &["send", "--to-user", "ben", text]).done();
    }
    assert_eq!(shell.kept(), 3);
    let table = shell.im(&["status"]);
    for label in ["messages", "backlog", "dead letters", "epoch", "last run"] {
        assert!(table.quietly().iter().any(|line| line.starts_with(label)), "{label}: {table:?}");
    }
}

#[test]
fn what_the_server_refuses_is_a_failure() {
    let Some(shell) = Shell::new("shell-refused") else { return };
    let sent = shell.person("ann", &["send", "--to-user", "ben", "private"]);
    let chat = shape::text(&json_lines(&sent.quietly())[0], "conversationId").to_owned();
    for command in [&["pull", &chat][..], &["sync", &chat], &["send", "--to", &chat, "me too"]] {
        shell.person("mallory", command).failed(1, "not_member (403)");
    }
    shell.person("ann", &["pull", "elsewhere"]).failed(1, "conversation_not_found (404)");
    let key = "another secret of 32 bytes or more";
    let args = ["pull", &chat, "--url", &shell.url, "--tenant", &shell.tenant.name, "--user", "ann"];
    im(&[&args[..], &["--key", key]].concat()).failed(1, "unauthenticated (401)");
    im(&["pull", &chat, "--url", &shell.url, "--token", "no.token.this"]).failed(1, "unauthenticated (401)");
}

#[test]
fn wrong_use_has_code_2() {
    let Some(shell) = Shell::new("shell-use") else { return };
    let scratch = Scratch::new();
    let absent = scratch.path().join("absent.ndjson").display().to_string();
    shell.im(&["replay", &absent]).failed(2, "absent.ndjson");
    shell.im(&["replay", &scratch.path().display().to_string()]).failed(2, "regular file");
    shell.im(&["sync", "room", "--user", "ann"]).failed(2, "--device");
    for args in [
        &["pull", "room", "--limit", "0"][..],
        &["pull", "room", "--limit", "101"],
        &["pull", "room", "--up", "--down"],
        &["pull", "no room"],
        &["pull", "room", "--cursor", "newest"],
        &["send", "--to", "room"],
        &["send", "hello"],
        &["send", "--to", "room", "--to-user", "ben", "hello"],
        &["send", "--to", "room", "--type", "typing", "hello"],
        &["frobnicate"],
    ] {
        let ended = shell.person("ann", args);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{ended:?}");
        assert!(ended.stderr.starts_with("error: "), "{ended:?}");
    }
}

#[test]
fn a_server_that_is_not_there_is_a_failure_of_one_line() {
    let Some(shell) = Shell::new("shell-nowhere") else { return };
    let url = nowhere();
    let own = ["--url", &url, "--data", &shell.data, "--tenant", &shell.tenant.name];
    let person = ["--user", "ann", "--device", "phone"];
    for args in [
        &[&["send", "--to", "room", "hello"][..], &person].concat(),
        &[&["pull", "room"][..], &person].concat(),
        &[&["sync", "room"][..], &person].concat(),
        &vec!["status"],
    ] {
        im(&[&args[..], &own].concat()).failed(1, &format!("{url} cannot be reached"));
    }
}

#[test]
fn a_sample_is_replayed_once_however_often() {
    let Some(shell) = Shell::new("shell-replay") else { return };
    let file = Sample::Cjk.file().display().to_string();
    let chats = Sample::Cjk.chats();
    let lines: u64 = chats.iter().map(|chat| chat.lines.len() as u64).sum();
    for (sent, duplicates) in [(lines, 0), (0, lines)] {
        let summary = shell.im(&["replay", &file]);
        summary.done();
        let found = ["sent", "duplicates", "failed"].map(|label| figure(&summary, label));
        assert_eq!(found, [sent, duplicates, 0], "{summary:?}");
        assert_eq!(figure(&summary, "conversations"), chats.len() as u64);
        assert_eq!(shell.kept(), lines);
    }
    for chat in &chats {
        let args = ["pull", &chat.id, "--down", "--json", "--all", "--limit", "100"];
        let pulled = shell.person(&chat.senders[0], &args);
        let pulled = json_lines(&pulled.quietly());
        assert_eq!(pulled.len(), chat.lines.len(), "{}", chat.id);
        for (n, (line, message)) in chat.lines.iter().zip(&pulled).enumerate() {
            let place = format!("{} line {n}", chat.id);
            assert_eq!(message["content"], line.text, "{place}");
            assert_eq!(message["senderId"], line.sender_id, "{place}");
        }
    }
}

fn chat_line(sender: &str, ts: u64, text: &str) -> String {
    json!({"conversationId": "room", "senderId": sender, "ts": ts, "text": text}).to_string()
}

#[test]
fn a_broken_line_is_named_and_nothing_is_sent() {
    let Some(shell) = Shell::new("shell-broken") else { return };
    let scratch = Scratch::new();
    let good = [chat_line("ann", 1, "one"), chat_line("ben", 2, "two")];
    let cut = good[0][..good[0].len() - 2].to_owned();
    let stray = good[0].replace("\"ts\"", "\"time\"");
    for broken in [cut.as_str(), "", "[]", "\"text\"", &stray, &chat_line("a b", 3, "three")] {
        let text = [&good[0], &good[1], broken, &good[0]].map(|line| format!("{line}\n")).concat();
        let file = scratch.write("chat.ndjson", &text);
        let ended = shell.im(&["replay", &file]);
        ended.failed(1, &format!("{file}: line 3: "));
    }
    shell.person("ann", &["pull", "room"]).failed(1, "conversation_not_found (404)");
    // Mended, it goes.
    let text = format!("{}\n{}\n{}", good[0], good[1], chat_line("ann", 3, "three"));
    let file = scratch.write("chat.ndjson", &text);
    assert_eq!(figure(&shell.im(&["replay", &file]), "sent"), 3);
    // A file that grew sends what is new, and only that.
    let file = scratch.write("chat.ndjson", &format!("{text}\n{}\n", chat_line("ben", 4, "four")));
    let longer = shell.im(&["replay", &file]);
    assert_eq!((figure(&longer, "sent"), figure(&longer, "duplicates")), (1, 3), "{longer:?}");
    let all = shell.person("ben", &["pull", "room", "--down", "--json"]);
    assert_eq!(texts(&json_lines(&all.quietly())), ["one", "two", "three", "four"]);
}
