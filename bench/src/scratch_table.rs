//! A table like that of the messages, with its partitions and indexes, for what PostgreSQL alone can do.

use crate::failure::Outcome;
use crate::load::Window;
use crate::meter::Meter;
use crate::servers::postgres::connect;
use crate::stats::Sample;
use bytes::{Bytes, BytesMut};
use futures::{SinkExt, StreamExt};
use std::pin::pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use tokio_postgres::Client;

/// As many as the table of the messages has.
const PARTITIONS: usize = 8;
const CHUNK_BYTES: usize = 64 * 1024;
/// Conversations that rows are inserted into.
const CONVERSATIONS: i64 = 32;
const INSERT: &str = "
    INSERT INTO bench_message (cid, msg_id, seq, countable, sender, client_msg_id, fingerprint, kind, content)
    SELECT $1::bigint, $2::bigint, $2::bigint, $2::bigint, 'alice', 'bench-' || $2::bigint,
        decode(md5($2::bigint::text), 'hex'), 0, convert_to(repeat('m', 200), 'UTF8')";

/// The next row that is inserted.
static NEXT_ROW: AtomicI64 = AtomicI64::new(1);

pub struct ScratchTable {
    url: String,
    client: Client,
    /// Rows as COPY takes them.
    rows: Bytes,
}

impl ScratchTable {
    /// Makes the table, and takes copies of messages that are stored.
    pub async fn make(url: &str, count: u64) -> Outcome<Self> {
        let client = connect(url).await?;
        client
            .batch_execute("CREATE TABLE bench_message (LIKE message INCLUDING ALL) PARTITION BY HASH (cid)")
            .await?;
        for part in 0..PARTITIONS {
            let text = format!(
                "CREATE TABLE bench_message_{part} PARTITION OF bench_message
                FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {part})"
            );
            client.batch_execute(&text).await?;
        }
        let rows = take(&client, count).await?;
        Ok(Self { url: url.to_owned(), client, rows })
    }

    /// All rows in one COPY, which is one commit.
    pub async fn copy(&self, meter: Meter) -> Outcome<Sample> {
        self.client.batch_execute("TRUNCATE bench_message").await?;
        let (before, begun) = (meter.read(), Instant::now());
        let mut sink = pin!(self.client.copy_in("COPY bench_message FROM STDIN").await?);
        let mut rows = self.rows.clone();
        while !rows.is_empty() {
            sink.send(rows.split_to(CHUNK_BYTES.min(rows.len()))).await?;
        }
        let count = sink.finish().await?;
        let sample = Sample::of_rows(count, begun.elapsed());
        Ok(Sample { cpu: meter.read().since(before).each(count), ..sample })
    }

    /// Rows one by one on so many connections, each a statement and a commit.
    pub async fn insert(&self, connections: usize, length: Duration, meter: Meter) -> Outcome<Sample> {
        self.client.batch_execute("TRUNCATE bench_message").await?;
        let window = Window::of(length);
        let one = async |_| {
            let client = connect(&self.url).await?;
            let statement = client.prepare(INSERT).await?;
            let insert = async || {
                let row = NEXT_ROW.fetch_add(1, Ordering::Relaxed);
                client.execute(&statement, &[&(row % CONVERSATIONS), &row]).await?;
                Ok(())
            };
            window.repeat(insert).await
        };
        window.gather((0..connections).map(one), meter).await
    }
}

async fn take(client: &Client, count: u64) -> Outcome<Bytes> {
    let text = format!("COPY (SELECT * FROM message LIMIT {count}) TO STDOUT");
    let mut stream = pin!(client.copy_out(&text).await?);
    let mut rows = BytesMut::new();
    while let Some(part) = stream.next().await {
        rows.extend_from_slice(&part?);
    }
    Ok(rows.freeze())
}
