//! Raw SQL, past the product.

use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Rows of text; null is absent.
pub type Rows = Vec<Vec<Option<String>>>;

/// Runs statements, separated by semicolons, and gives the rows of all of them. It has a thread and
/// a runtime of its own, so that anybody may call it.
pub fn try_run(url: &str, statements: &str) -> Result<Rows, String> {
    let (url, statements) = (url.to_owned(), statements.to_owned());
    let work = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(run_here(&url, &statements)).map_err(|e| format!("{e:?}"))
    };
    std::thread::spawn(work).join().expect("no panic over a statement")
}

/// As [`try_run`], of statements that cannot fail.
#[track_caller]
pub fn run(url: &str, statements: &str) -> Rows {
    try_run(url, statements).unwrap_or_else(|e| panic!("{statements}: {e}"))
}

/// The only value of a statement.
#[track_caller]
pub fn value(url: &str, statement: &str) -> String {
    let rows = run(url, statement);
    let value = rows.first().and_then(|row| row.first()).and_then(Clone::clone);
    value.unwrap_or_else(|| panic!("{statement}: no value in {rows:?}"))
}

async fn run_here(url: &str, statements: &str) -> Result<Rows, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let connection = tokio::spawn(connection);
    let messages = client.simple_query(statements).await;
    drop(client);
    let _ = connection.await;
    let row = |message: SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|n| row.get(n).map(str::to_owned)).collect()),
        _ => None,
    };
    Ok(messages?.into_iter().filter_map(row).collect())
}
