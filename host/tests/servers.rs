//! `im up --with-servers`: a Redis and a PostgreSQL of its own, that keep their data, end with it,
//! and are taken up again after it was killed.

#![cfg(test)]

mod support;

use std::time::{Duration, Instant};

use support::{Folder, Up, kill};

const MANIFEST: &str = r#"
spin_manifest_version = 2
[application]
name = "servers"
[variables]
redis_url = { required = true }
postgres_url = { required = true, secret = true }
"#;

/// How long a server may take to end.
const HUNG: Duration = Duration::from_secs(60);

fn read(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.path(&format!(".im/servers/{name}"))).unwrap()
}

fn redis_url(folder: &Folder) -> String {
    let config = read(folder, "redis/redis.conf");
    let port = config.lines().find_map(|line| line.strip_prefix("port ")).unwrap();
    format!("redis://:{}@127.0.0.1:{port}", read(folder, "redis.secret"))
}

fn redis(folder: &Folder, command: &[&str]) -> String {
    let mut link = redis::Client::open(redis_url(folder)).unwrap().get_connection().unwrap();
    redis::cmd(command[0]).arg(&command[1..]).query(&mut link).unwrap()
}

/// A setting of the running Redis.
fn redis_setting(folder: &Folder, name: &str) -> String {
    let mut link = redis::Client::open(redis_url(folder)).unwrap().get_connection().unwrap();
    let (_, value): (String, String) = redis::cmd("CONFIG").arg("GET").arg(name).query(&mut link).unwrap();
    value
}

/// The text in the first column of what a statement answers.
fn postgres(folder: &Folder, statement: &str) -> Option<String> {
    let port = read(folder, "postgres/postmaster.pid").lines().nth(3).unwrap().to_owned();
    let url = format!("postgres://im:{}@127.0.0.1:{port}/postgres", read(folder, "postgres.secret"));
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let rows = client.simple_query(statement).await.unwrap();
        rows.into_iter().find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        })
    })
}

fn start(folder: &Folder) -> Up {
    folder.up(&["--with-servers"])
}

/// Whether a server that was running in the folder has ended.
fn wait_for_end(pid: &str) {
    let begun = Instant::now();
    while std::path::Path::new(&format!("/proc/{pid}/stat")).exists() {
        assert!(begun.elapsed() < HUNG, "process {pid} still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn pids(folder: &Folder) -> [String; 2] {
    let first = |name: &str| read(folder, name).lines().next().unwrap().trim().to_owned();
    [first("redis/redis.pid"), first("postgres/postmaster.pid")]
}

#[test]
fn the_servers_keep_their_data_and_end_with_the_app() {
    let folder = Folder::new(MANIFEST);
    let up = start(&folder);
    assert_eq!(redis(&folder, &["SET", "k", "v"]), "OK");
    for (name, value) in
        [("appendonly", "yes"), ("appendfsync", "everysec"), ("maxmemory-policy", "noeviction")]
    {
        assert_eq!(redis_setting(&folder, name), value, "{name}");
    }
    postgres(&folder, "CREATE TABLE t AS SELECT 'kept' AS x");
    let settings = "SELECT current_setting('fsync') || current_setting('unix_socket_directories')";
    assert_eq!(postgres(&folder, settings).unwrap(), "on");
    let (code, line) = folder.fails(&["up", "--listen", "127.0.0.1:0", "--with-servers"]);
    assert_eq!(code, 1);
    assert!(line.contains("another im"), "{line}");
    let pids_before = pids(&folder);
    assert_eq!(up.stop("INT"), Some(0));
    pids_before.iter().for_each(|pid| wait_for_end(pid));

    let up = start(&folder);
    assert_eq!(redis(&folder, &["GET", "k"]), "v");
    assert_eq!(postgres(&folder, "SELECT x FROM t").unwrap(), "kept");
    assert_eq!(up.stop("TERM"), Some(0));
}

#[test]
fn after_a_kill_they_are_taken_up_again() {
    let folder = Folder::new(MANIFEST);
    let up = start(&folder);
    assert_eq!(redis(&folder, &["SET", "k", "v"]), "OK");
    let killed = pids(&folder);
    drop(up);
    let up = start(&folder);
    killed.iter().for_each(|pid| wait_for_end(pid));
    assert_eq!(redis(&folder, &["GET", "k"]), "v");
    assert_eq!(up.stop("TERM"), Some(0));
}

#[test]
fn when_one_ends_the_app_ends_with_an_error_and_the_other() {
    let folder = Folder::new(MANIFEST);
    for (name, index) in [("redis-server", 0), ("postgres", 1)] {
        let up = start(&folder);
        let pids = pids(&folder);
        kill("KILL", &pids[index]);
        assert_eq!(up.ended(), Some(1));
        folder.stderr_with(&format!("--with-servers: {name} has ended"));
        wait_for_end(&pids[1 - index]);
    }
    assert_eq!(start(&folder).stop("TERM"), Some(0));
}

#[test]
fn a_start_that_fails_leaves_none() {
    let folder = Folder::new(&format!("{MANIFEST}[component.c]\nsource = \"gone.wasm\"\n"));
    let (code, line) = folder.fails(&["up", "--listen", "127.0.0.1:0", "--with-servers"]);
    assert_eq!(code, 1);
    assert!(line.contains("gone.wasm"), "{line}");
    let left: Vec<_> = ["redis/redis.pid", "postgres/postmaster.pid"]
        .into_iter()
        .filter(|name| folder.path(&format!(".im/servers/{name}")).exists())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_server_that_is_set_is_not_started() {
    let folder = Folder::new(MANIFEST);
    let given = ["--with-servers", "--var", "redis_url=redis://h", "--var", "postgres_url=postgres://h"];
    let up = folder.up(&given);
    assert!(!folder.path(".im/servers/redis").exists());
    assert_eq!(up.stop("TERM"), Some(0));
}

#[test]
fn a_missing_program_names_its_package() {
    let folder = Folder::new(MANIFEST);
    let mut command = folder.command(&["up", "--listen", "127.0.0.1:0", "--with-servers"]);
    let output = command.env("PATH", "/nowhere").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text, "im: --with-servers: redis-server is not installed: apt install redis-server\n");
}
