//! What an operator asks of a connection: statements whose every answer is text.
//!
//! The statements of operators are seldom sent, and are made from parts that differ between the databases
//! ([`Dialect`]). Each column is selected as text, so that one reader serves all three. Values are spliced in as hexadecimal
//! digits and integers, and nothing else is.

use std::future::Future;

use sqlx::{Connection, Pool, Transaction};

use super::backend::Backend;
use super::doctor::{Facts, Finding};
use super::lease::{LeaseSession, LeaseStatements};
use crate::values::error::Error;
use crate::values::key::hex;
use crate::values::record::{AttemptId, Timestamp};

/// A database that operators can work on: PostgreSQL, MySQL and MariaDB, SQLite. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a database that operators can work on, or its feature is off",
    note = "turn on the feature of idem-runtime that is named after the database: `postgres`, `mysql` or `sqlite`"
)]
pub trait OperateBackend: Backend<Connection: OperateSession> {}

impl<DB: Backend<Connection: OperateSession>> OperateBackend for DB {}

/// A connection that operators can work on. Sealed; implemented by the drivers' connections.
pub trait OperateSession: LeaseSession + LeaseStatements + Connection {
    /// The spelling of this database.
    const DIALECT: Dialect;

    /// Returns the statements of an examination: each answers names and values.
    #[doc(hidden)]
    fn facts(table: &str) -> Vec<String>;

    /// Returns what the facts of an examination mean.
    #[doc(hidden)]
    fn diagnose(facts: &Facts, table: &str) -> Vec<Finding>;

    /// Returns whether a pooler stands between this process and the server; `None` if that cannot be found out.
    #[doc(hidden)]
    fn is_behind_pooler(
        pool: &Pool<<Self as Connection>::Database>,
    ) -> impl Future<Output = Option<bool>> + Send {
        let _ = pool;
        async { None }
    }

    /// Begins a transaction each of whose statements sees what was committed before it, whatever the session's isolation.
    #[doc(hidden)]
    fn open_to_change(
        &mut self,
    ) -> impl Future<Output = Result<Transaction<'_, <Self as Connection>::Database>, Error>> + Send;

    /// Begins the transaction of a purge's batch: as [`open_to_change`](Self::open_to_change), and it locks no gap.
    #[doc(hidden)]
    fn open_to_purge(
        &mut self,
    ) -> impl Future<Output = Result<Transaction<'_, <Self as Connection>::Database>, Error>> + Send
    {
        self.open_to_change()
    }

    /// Asks for the lead of a table's purge. Returns `false` if another node has it.
    #[doc(hidden)]
    fn lead(&mut self, table: &str) -> impl Future<Output = Result<bool, Error>> + Send {
        let _ = table;
        async { Ok(true) }
    }

    /// Gives the lead up, if it outlives the transaction.
    #[doc(hidden)]
    fn give_up_lead(&mut self, table: &str) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = table;
        async { Ok(()) }
    }

    /// Sends a statement on `table`, and returns its rows.
    fn cells(
        &mut self,
        statement: String,
        table: &str,
    ) -> impl Future<Output = Result<Vec<Cells>, Error>> + Send;

    /// Sends a statement on `table`, and returns the number of rows that it changed.
    fn change(
        &mut self,
        statement: String,
        table: &str,
    ) -> impl Future<Output = Result<u64, Error>> + Send;
}

/// One row: every value is text, or null.
#[derive(Clone, PartialEq, Eq)]
pub struct Cells(pub(super) Vec<Option<String>>);

impl std::fmt::Debug for Cells {
    /// Shows no value.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cells").finish_non_exhaustive()
    }
}

impl Cells {
    #[cfg(test)]
    pub(crate) fn of(values: impl IntoIterator<Item = String>) -> Self {
        Self(values.into_iter().map(Some).collect())
    }

    /// Returns the value of a column, from 0; `None` if it is null, or is not there.
    pub fn text(&self, column: usize) -> Option<&str> {
        self.0.get(column)?.as_deref()
    }

    /// Returns the value of a column of integers.
    pub fn number(&self, column: usize) -> Option<i64> {
        self.text(column)?.parse().ok()
    }

    /// Returns the value of a column of times.
    pub fn time(&self, column: usize) -> Option<Timestamp> {
        self.number(column).map(Timestamp::from_micros)
    }

    /// Returns the value of a column of bytes.
    pub fn bytes(&self, column: usize) -> Option<Vec<u8>> {
        hex::read(self.text(column)?.as_bytes())
    }

    /// Returns the value of a column of attempt ids.
    pub(crate) fn attempt_id(&self, column: usize) -> Option<AttemptId> {
        let id = uuid::Uuid::try_parse(self.text(column)?).ok()?;
        Some(AttemptId::from_uuid(id))
    }
}

/// The spelling of the parts that differ between the databases. `{}` stands for an expression.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// The database, as its vendor writes it.
    pub name: &'static str,
    /// The column `key` of a record.
    pub key: &'static str,
    /// The clock, as microseconds since the epoch.
    pub(crate) now: &'static str,
    /// The account of the session, as text.
    pub(crate) account: &'static str,
    /// The first 12 hexadecimal digits of the key's SHA-256, if the database can compute them.
    pub(crate) key_hash: Option<&'static str>,
    /// An integer, a text, bytes, an attempt id and a time, each as text.
    pub(crate) number_cell: &'static str,
    pub(crate) text_cell: &'static str,
    pub(crate) bytes_cell: &'static str,
    pub(crate) id_cell: &'static str,
    pub(crate) time_cell: &'static str,
    /// The SHA-256 of bytes, if the database can compute it.
    pub(crate) sha256: Option<&'static str>,
    /// What a locking read ends with that leaves out the rows that others have locked; empty if one lock is on all of them.
    pub(crate) skip_locked: &'static str,
    /// Whether a lock of its own keeps the legal holds from those who read them.
    pub(crate) locks_holds: bool,
    /// Bytes made of hexadecimal digits.
    pub(crate) bytes_literal: &'static str,
    /// The hours from the epoch to a time, as an integer.
    pub(crate) hour: &'static str,
    /// The number of rows of a table, as the database estimates it without reading it: a statement.
    pub(crate) row_estimate: &'static str,
    /// The length of bytes.
    pub(crate) length: &'static str,
    /// The microseconds of a difference of two times.
    pub(crate) span: &'static str,
    /// Text made of hexadecimal digits.
    pub(crate) text_literal: &'static str,
    /// A time made of microseconds.
    pub(crate) time_literal: &'static str,
    /// The schema in which a table without one is, where temporary tables would hide it.
    pub(crate) schema: &'static str,
}

fn fill(pattern: &str, expression: &str) -> String {
    pattern.replace("{}", expression)
}

impl Dialect {
    /// Returns an expression of integers as a column.
    pub fn number_cell(&self, expression: &str) -> String {
        fill(self.number_cell, expression)
    }

    /// Returns an expression of text as a column.
    pub fn text_cell(&self, expression: &str) -> String {
        fill(self.text_cell, expression)
    }

    /// Returns an expression of bytes as a column.
    pub fn bytes_cell(&self, expression: &str) -> String {
        fill(self.bytes_cell, expression)
    }

    /// Returns an expression of times as a column. The time that never comes is null.
    pub fn time_cell(&self, expression: &str) -> String {
        fill(self.time_cell, expression)
    }

    /// Returns the hours from the epoch to a time, as an integer.
    pub(crate) fn hour(&self, expression: &str) -> String {
        fill(self.hour, expression)
    }

    /// Returns the statement that estimates the number of rows of a table.
    pub(crate) fn row_estimate(&self, table: &str) -> String {
        fill(self.row_estimate, table)
    }

    pub(crate) fn id_cell(&self, expression: &str) -> String {
        fill(self.id_cell, expression)
    }

    /// Returns an attempt id as [`id_cell`](Self::id_cell) answers it.
    pub(crate) fn id_of(&self, id: AttemptId) -> String {
        if self.id_cell.contains("hex") {
            id.to_string().to_ascii_uppercase()
        } else {
            id.as_uuid().hyphenated().to_string()
        }
    }

    /// Returns the length of an expression of bytes, as an integer.
    pub fn length(&self, expression: &str) -> String {
        fill(self.length, expression)
    }

    /// Returns the SHA-256 of an expression of bytes, if the database can compute it.
    pub(crate) fn sha256(&self, expression: &str) -> Option<String> {
        self.sha256.map(|sha256| fill(sha256, expression))
    }

    /// Returns the microseconds of a difference of two times.
    pub(crate) fn span(&self, expression: &str) -> String {
        fill(self.span, expression)
    }

    /// Returns a text as an expression.
    pub fn text(&self, text: &str) -> String {
        fill(self.text_literal, &hex::lower(text.as_bytes()))
    }

    /// Returns bytes as an expression.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> String {
        fill(self.bytes_literal, &hex::lower(bytes))
    }

    /// Returns a time as an expression.
    pub fn time(&self, at: Timestamp) -> String {
        fill(self.time_literal, &at.as_micros().to_string())
    }

    /// Returns the name of a table, as a statement names it.
    pub fn table(&self, table: &str) -> String {
        if table.contains('.') || self.schema.is_empty() {
            table.to_owned()
        } else {
            format!("{}.{table}", self.schema)
        }
    }

    /// Returns the statement that reads the database's clock.
    pub(crate) fn clock(&self) -> String {
        format!("SELECT {}", self.number_cell(self.now))
    }
}

/// Reads the database's clock.
///
/// # Errors
/// Any error of the database.
pub async fn clock<S: OperateSession>(conn: &mut S, table: &str) -> Result<Timestamp, Error> {
    let rows = conn.cells(S::DIALECT.clock(), table).await?;
    let now = rows.first().and_then(|row| row.time(0));
    now.ok_or(Error::UnknownState {
        what: "clock, whose answers count",
        value: i64::try_from(rows.len()).unwrap_or(i64::MAX),
    })
}
