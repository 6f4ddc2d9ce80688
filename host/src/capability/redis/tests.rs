//! Shows, on a Redis of its own, what commands answer, how errors read, and that a connection closes
//! when it is dropped.

use std::time::{Duration, Instant};

use super::connection::Connection;
use super::wit;
use crate::capability::outbound::Slots;
use crate::data::DataFolder;
use crate::servers::{Servers, Wanted};

/// How long anything here may take before it counts as hung.
const HUNG: Duration = Duration::from_secs(20);

async fn open(url: &str) -> Connection {
    Connection::open(url.parse().unwrap(), Slots::new(1).take().unwrap()).await.unwrap()
}

async fn run(connection: &Connection, command: &str) -> Result<Vec<wit::RedisResult>, wit::Error> {
    let mut words = command.split(' ');
    let name = words.next().unwrap();
    let arguments = words.map(|word| wit::RedisParameter::Binary(word.into())).collect();
    connection.clone().execute(name, arguments).await
}

async fn shown(connection: &Connection, command: &str) -> String {
    format!("{:?}", run(connection, command).await)
}

#[tokio::test]
async fn commands_errors_and_closing() {
    let data = tempfile::tempdir().unwrap();
    let folder = DataFolder::open(data.path()).unwrap();
    let servers = Servers::start(&folder, Wanted { redis: true, postgres: false }).await.unwrap();
    let url = servers.redis_url().unwrap();
    let connection = open(url).await;
    answers(&connection).await;
    errors(&connection).await;
    closing(&connection, url).await;
    servers.stop().await;
    assert!(matches!(run(&connection, "PING").await, Err(wit::Error::Other(_))));
}

async fn answers(connection: &Connection) {
    assert!(shown(connection, "PING").await.contains("Status(\"PONG\")"));
    assert!(shown(connection, "GET absent").await.contains("Nil"));
    assert!(run(connection, "KEYS *").await.unwrap().is_empty());
    run(connection, "XADD s 1-1 f v").await.unwrap();
    run(connection, "XADD s 1-2 f v").await.unwrap();
    assert_eq!(run(connection, "XRANGE s - +").await.unwrap().len(), 6, "nested arrays are one list");
    let arguments = vec![wit::RedisParameter::Binary(b"n".to_vec()), wit::RedisParameter::Int64(i64::MIN)];
    connection.clone().execute("SET", arguments).await.unwrap();
    let number = run(connection, "GET n").await.unwrap();
    assert!(
        matches!(&number[..], [wit::RedisResult::Binary(text)] if text == i64::MIN.to_string().as_bytes())
    );
}

/// A guest tells errors apart by these words, so a new version of the crate must not change them.
async fn errors(connection: &Connection) {
    for (command, told) in [
        ("EVALSHA ffff 0", "NoScriptError"),
        ("INCR s", "WRONGTYPE: "),
        ("EVAL return{1,redis.error_reply('MINE\u{a0}text')} 0", "MINE"),
        ("NOPE", "ResponseError: unknown command"),
    ] {
        let text = match run(connection, command).await.unwrap_err() {
            wit::Error::Other(text) => text,
            other => panic!("{other:?}"),
        };
        assert!(text.contains(told), "{command}: {text}");
    }
}

async fn closing(connection: &Connection, url: &str) {
    let clients = async || match run(connection, "CLIENT LIST").await.unwrap().remove(0) {
        wit::RedisResult::Binary(list) => String::from_utf8(list).unwrap().lines().count(),
        other => panic!("{other:?}"),
    };
    let before = clients().await;
    let other = open(url).await;
    run(&other, "PING").await.unwrap();
    assert!(clients().await > before);
    drop(other);
    let begun = Instant::now();
    while clients().await > before {
        assert!(begun.elapsed() < HUNG);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
