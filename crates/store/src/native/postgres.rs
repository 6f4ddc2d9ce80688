//! The PostgreSQL port over the crate tokio-postgres.

mod values;

use crate::postgres::Postgres;
use crate::sql::{Row, SqlError, Value};
use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Statement};
use values::Parameter;

/// How long opening a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A PostgreSQL database, connected to by the first statement and again by the one after a failure.
pub struct NativePostgres {
    config: Config,
    session: Mutex<Option<Arc<Session>>>,
}

/// A connection with the statements that were prepared on it, by their text.
struct Session {
    client: Client,
    statements: Mutex<HashMap<String, Statement>>,
}

impl NativePostgres {
    pub fn new(url: &str) -> Result<Self, SqlError> {
        // The library's words may quote the address, and so a password.
        let mut config: Config = url
            .parse()
            .map_err(|_| SqlError::Failed("this is no address of a PostgreSQL database".to_owned()))?;
        config.connect_timeout(CONNECT_TIMEOUT);
        Ok(Self { config, session: Mutex::new(None) })
    }

    async fn session(&self) -> Result<Arc<Session>, SqlError> {
        let mut kept = self.session.lock().await;
        if let Some(session) = kept.as_ref().filter(|session| !session.client.is_closed()) {
            return Ok(Arc::clone(session));
        }
        let (client, connection) = self.config.connect(NoTls).await?;
        // It ends with the client; what went wrong is told to the statements that wait.
        tokio::spawn(connection);
        let session = Arc::new(Session { client, statements: Mutex::default() });
        Ok(Arc::clone(kept.insert(session)))
    }

    /// Unless a newer one is there already.
    async fn give_up(&self, session: &Arc<Session>) {
        let mut kept = self.session.lock().await;
        kept.take_if(|newest| Arc::ptr_eq(newest, session));
    }
}

impl Session {
    async fn prepare(&self, text: &str) -> Result<Statement, SqlError> {
        if let Some(statement) = self.statements.lock().await.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text).await?;
        self.statements.lock().await.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    async fn query(&self, text: &str, parameters: Vec<Value>) -> Result<Vec<Row>, SqlError> {
        let statement = self.prepare(text).await?;
        let parameters: Vec<Parameter> = parameters.into_iter().map(Parameter).collect();
        let borrowed: Vec<&(dyn ToSql + Sync)> =
            parameters.iter().map(|parameter| parameter as &(dyn ToSql + Sync)).collect();
        let rows = self.client.query(&statement, &borrowed).await?;
        rows.iter().map(values::row).collect()
    }
}

impl Postgres for NativePostgres {
    async fn query(&self, statement: &str, parameters: Vec<Value>) -> Result<Vec<Row>, SqlError> {
        let session = self.session().await?;
        let answer = session.query(statement, parameters).await;
        match &answer {
            Ok(_) => {}
            // The client notices a lost connection only some time later.
            Err(SqlError::Unavailable(_)) => self.give_up(&session).await,
            // A change of the schema may have made the prepared one useless.
            Err(_) => drop(session.statements.lock().await.remove(statement)),
        }
        answer
    }
}

impl From<tokio_postgres::Error> for SqlError {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(answer) = error.as_db_error() {
            return Self::from_state(answer.code().code(), answer.message().to_owned());
        }
        // The library does not tell its own kinds apart but by its words.
        const OURS: [&str; 3] = ["error serializing", "error deserializing", "expected"];
        let text = error.to_string();
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        let is_ours = OURS.iter().any(|words| text.starts_with(words));
        (if is_ours { Self::Failed } else { Self::Unavailable })(text + &cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_none_is_not_quoted() {
        let error = NativePostgres::new("postgres://im:secret@host:port/x?y=z").err().unwrap();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
