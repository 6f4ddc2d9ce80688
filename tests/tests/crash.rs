//! Proves that the death of the server under writes loses nothing that was acknowledged and doubles
//! nothing that is sent again: `im` is killed (or stopped) after a random number of receipts while
//! writers write, its SQLite files, if it has them, are checked as they lie, it is started on them
//! again, and the history is compared with the receipts. Needs a server of its own: skipped where `IM_URL` is set.
//! `IM_SOAK_SECONDS` makes it go on for so long (`cargo xtask soak`).

use fastrand::Rng;
use im_tests::client::Client;
use im_tests::process::Signal;
use im_tests::profile::Profile;
use im_tests::routes::SEND;
use im_tests::server::{Server, Setup};
use im_tests::talk::{group, send, text};
use im_tests::tenant::Tenant;
use im_tests::walk::{Direction, pull_all};
use im_tests::{seed, shape};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const WRITERS: usize = 8;
const ROOMS: usize = 3;
const ROUNDS: usize = 4;
/// More than a writer sends before the server is gone.
const BATCHES_OF_A_WRITER: usize = 5_000;
const PATIENCE: Duration = Duration::from_secs(120);

/// What the writers know: by room and `clientMsgId`, the receipt, or null if none came.
type Known = BTreeMap<(String, String), Value>;

/// Writes until the server is gone.
async fn write(writer: Client, key: String, batch: usize, receipts: Arc<AtomicUsize>) -> Known {
    let mut known = Known::new();
    for n in 0..BATCHES_OF_A_WRITER {
        let room = format!("room-{}", n % ROOMS);
        let ids: Vec<String> = (0..batch).map(|m| format!("{key}-{n}-{m}")).collect();
        let messages: Vec<Value> = ids.iter().map(|id| text(&room, id, id)).collect();
        for id in ids {
            known.insert((room.clone(), id), Value::Null);
        }
        let body = if batch == 1 { messages[0].clone() } else { json!({"messages": messages}) };
        let Some(answer) = writer.try_post(SEND, &body).await else { break };
        if answer.status == 503 {
            continue;
        }
        let answer = answer.ok();
        let results = answer["results"].as_array().cloned().unwrap_or_else(|| vec![answer]);
        for (message, receipt) in messages.iter().zip(results) {
            shape::receipt(&receipt);
            let id = shape::text(message, "clientMsgId").to_owned();
            known.insert((room.clone(), id), receipt);
            receipts.fetch_add(1, Ordering::Relaxed);
        }
    }
    known
}

/// Lets writers write until `enough` receipts have come, then ends the server.
async fn end_under_writes(
    server: &mut Server,
    label: &str,
    round: usize,
    enough: usize,
    signal: Signal,
) -> Known {
    let tenant = Tenant::on(server, label);
    let receipts = Arc::new(AtomicUsize::new(0));
    let mut writers = JoinSet::new();
    for n in 0..WRITERS {
        let batch = [1, 1, 7, 100][n % 4];
        let writer = tenant.user(&format!("writer-{n}")).fresh();
        writers.spawn(write(writer, format!("{round}-{n}"), batch, Arc::clone(&receipts)));
    }
    let began = Instant::now();
    while receipts.load(Ordering::Relaxed) < enough {
        assert!(began.elapsed() < PATIENCE, "too few receipts within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::task::block_in_place(|| server.stop(signal));
    writers.join_all().await.into_iter().flatten().collect()
}

/// Compares the history with all receipts; what has none is sent again first.
async fn check(server: &Server, label: &str, known: &mut Known) {
    let tenant = Tenant::on(server, label);
    let mut missed = 0;
    for ((room, id), receipt) in known.iter_mut().filter(|(_, receipt)| receipt.is_null()) {
        let writer = id.split('-').nth(1).expect("round-writer-batch-item");
        *receipt = send(&tenant.user(&format!("writer-{writer}")), text(room, id, id)).await;
        missed += 1;
    }
    println!("{} messages, {missed} of them sent again", known.len());
    for n in 0..ROOMS {
        let room = format!("room-{n}");
        let all = pull_all(&tenant.user("owner"), &room, Direction::Down, 100).await;
        let wanted: Vec<(&str, &Value)> = known
            .iter()
            .filter(|((of, _), _)| *of == room)
            .map(|((_, id), receipt)| (id.as_str(), receipt))
            .collect();
        assert_eq!(all.len(), wanted.len(), "{room}: as many as were sent, none twice");
        let found: BTreeMap<&str, &Value> =
            all.iter().map(|message| (shape::text(message, "clientMsgId"), message)).collect();
        for (id, receipt) in wanted {
            let message = found.get(id).unwrap_or_else(|| panic!("{room}: {id} is lost"));
            for field in ["msgId", "seq", "createTime"] {
                assert_eq!(message[field], receipt[field], "{room}: {id}: {field}");
            }
            assert_eq!(message["content"], id);
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the data folder can be read");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Checks every SQLite file below `data` on a copy, so that the server gets the files as they lie.
fn check_databases(data: &Path) {
    let copy = std::env::temp_dir().join(format!("im-tests-copy-{:016x}", fastrand::u64(..)));
    fs::create_dir(&copy).expect("a scratch folder can be made");
    let files = files_below(data);
    let is_database =
        |path: &&PathBuf| fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"SQLite format 3\0"));
    let databases: Vec<&PathBuf> = files.iter().filter(is_database).collect();
    assert!(!databases.is_empty(), "no database in {files:?}");
    for database in databases {
        let name = database.file_name().expect("a file").to_string_lossy().into_owned();
        for suffix in ["", "-wal", "-journal"] {
            let part = database.with_file_name(format!("{name}{suffix}"));
            if part.exists() {
                fs::copy(&part, copy.join(format!("{name}{suffix}"))).expect("copied");
            }
        }
        let connection = Connection::open(copy.join(&name)).expect("the database opens");
        let verdict: String =
            connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("the check runs");
        assert_eq!(verdict, "ok", "{name}");
    }
    fs::remove_dir_all(&copy).expect("the copy can be removed");
}

/// [`ROUNDS`] rounds, and more of them, each lot with a tenant of its own, while a soak lasts.
async fn rounds(server: &mut Server, rng: &mut Rng, signal: Signal) {
    let lasts = std::env::var("IM_SOAK_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let end = Instant::now() + Duration::from_secs(lasts.unwrap_or(0));
    for lot in 0.. {
        lot_of_rounds(server, &format!("crash-{lot}"), rng, signal).await;
        if Instant::now() >= end {
            break;
        }
    }
}

async fn lot_of_rounds(server: &mut Server, label: &str, rng: &mut Rng, signal: Signal) {
    let tenant = Tenant::on(server, label);
    let names: Vec<String> = (0..WRITERS).map(|n| format!("writer-{n}")).collect();
    let members: Vec<&str> = names.iter().map(String::as_str).collect();
    for n in 0..ROOMS {
        group(&tenant.user("owner"), &format!("room-{n}"), &members).await;
    }
    let mut known = Known::new();
    for round in 0..ROUNDS {
        let enough = rng.usize(1..1_500);
        known.extend(end_under_writes(server, label, round, enough, signal).await);
        if Profile::current() == Profile::Embedded {
            check_databases(server.data());
        }
        server.start_again();
        check(server, label, &mut known).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_under_writes_nothing_is_lost_or_doubled() {
    let Some(mut server) = Server::own(Setup::default()) else { return };
    let mut rng = seed::rng("killed_under_writes_nothing_is_lost_or_doubled");
    rounds(&mut server, &mut rng, Signal::Kill).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopped_under_writes_nothing_is_lost_or_doubled() {
    let Some(mut server) = Server::own(Setup::default()) else { return };
    let mut rng = seed::rng("stopped_under_writes_nothing_is_lost_or_doubled");
    rounds(&mut server, &mut rng, Signal::Term).await;
}
