//! A session, and running one statement in it.
//!
//! Rule: a session goes back into the pool only when nothing of its guest can be left in it. One in
//! which a transaction was begun is closed instead, whether the guest ended it or was killed before:
//! the server rolls back. So is one in which a statement was given up before its end; that
//! statement is cancelled too, so that it does not go on without anyone waiting for it.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deadpool_postgres::Object;
use futures::StreamExt;
use tokio_postgres::{CancelToken, NoTls};

use super::values::{self, Limited, Parameters};
use super::{error, statement, wit};
use crate::capability::outbound::Slot;

/// A session that a guest holds.
#[derive(Clone)]
pub struct Connection(Arc<Session>);

struct Session {
    /// Taken when the session ends.
    client: Option<Object>,
    /// A transaction may be open.
    began: AtomicBool,
    /// A statement was given up.
    broke_off: AtomicBool,
    _slot: Slot,
}

/// What a statement gave: columns, rows, and whether it came to its end.
pub struct Outcome {
    pub columns: Vec<wit::Column>,
    pub rows: Vec<wit::Row>,
    pub result: Result<(), wit::Error>,
}

impl Connection {
    pub fn new(client: Object, slot: Slot) -> Self {
        Self(Arc::new(Session {
            client: Some(client),
            began: AtomicBool::new(false),
            broke_off: AtomicBool::new(false),
            _slot: slot,
        }))
    }

    /// Runs a statement to its end. An error that is known before it runs is returned as such; one
    /// that comes later, with the rows before it.
    pub async fn query(
        &self,
        statement: &str,
        parameters: Vec<wit::ParameterValue>,
    ) -> Result<Outcome, wit::Error> {
        let parameters = values::parameters(parameters)?;
        self.0.run(statement, async |client| rows(client, statement, parameters).await).await
    }

    /// Runs a statement; how many rows it changed.
    pub async fn execute(
        &self,
        statement: &str,
        parameters: Vec<wit::ParameterValue>,
    ) -> Result<u64, wit::Error> {
        let parameters = values::parameters(parameters)?;
        let changed = async |client: &Object| client.execute_raw(statement, parameters).await;
        self.0.run(statement, async |client| changed(client).await.map_err(|e| error::query_failed(&e))).await
    }
}

impl Session {
    /// Does work with the client, and marks the session if that is given up.
    async fn run<R>(
        &self,
        statement: &str,
        work: impl AsyncFnOnce(&Object) -> Result<R, wit::Error>,
    ) -> Result<R, wit::Error> {
        let client = self.client.as_ref().ok_or_else(|| error::connection_failed("the session has ended"))?;
        if statement::begins_transaction(statement) {
            self.began.store(true, Ordering::Relaxed);
        }
        let unfinished = Unfinished(&self.broke_off);
        let outcome = work(client).await;
        std::mem::forget(unfinished);
        outcome
    }
}

/// Sets a flag when dropped.
struct Unfinished<'a>(&'a AtomicBool);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn rows(client: &Object, statement: &str, parameters: Parameters) -> Result<Outcome, wit::Error> {
    let stream = client.query_raw(statement, parameters).await;
    let mut stream = pin!(stream.map_err(|e| error::query_failed(&e))?);
    let mut outcome = Outcome { columns: Vec::new(), rows: Vec::new(), result: Ok(()) };
    let mut limit = Limited::default();
    while let Some(row) = stream.next().await {
        let row = row.map_err(|e| error::query_failed(&e)).and_then(|row| {
            // As in Spin the first row tells the columns, so without one there are none.
            if outcome.columns.is_empty() {
                outcome.columns = values::columns(&row);
            }
            values::row(&row, &mut limit)
        });
        match row {
            Ok(row) => outcome.rows.push(row),
            Err(failed) => {
                outcome.result = Err(failed);
                break;
            }
        }
    }
    Ok(outcome)
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else {
            return;
        };
        if *self.broke_off.get_mut() {
            cancel(client.cancel_token());
        }
        if *self.broke_off.get_mut() || *self.began.get_mut() {
            // Out of the pool and closed.
            drop(Object::take(client));
        }
    }
}

/// Tells the server to stop what the session does. Outside of the runtime the process is ending.
fn cancel(token: CancelToken) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        // If it cannot be told, the statement comes to its own end.
        runtime.spawn(async move { drop(token.cancel_query(NoTls).await) });
    }
}
