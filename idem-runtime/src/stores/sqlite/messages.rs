//! The three texts of the library's own unit of work on a pool's file: a probe before BEGIN, the claim after it,
//! and the record before COMMIT.
//!
//! A statement that is prepared anew costs more than one that is sent: so each text is kept, and what belongs
//! together is one text. BEGIN and COMMIT are the driver's. Only then is its count of transactions right wherever
//! the future is dropped.

use std::future::poll_fn;
use std::sync::Arc;

use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Either, Executor as _, Row as _, query::Query};

use super::super::row;
use super::super::session::{BodyWrites, NewRecord, Written};
use super::claim::{Savepoint, SqliteClaim, SqliteClaimRequest, SqliteFound, SqliteHeldClaim};
use super::pool_file::PoolFile;
use super::{bind_record, error, sql, verify, written, wrong_or};
use crate::decision::{Lock, Lookup};
use crate::values::error::{Error, SchemaFault};
use crate::values::record::Timestamp;

/// Looks the record up outside a transaction. Returns `None` if there is none.
pub(super) async fn probe(
    conn: &mut SqliteConnection,
    request: &SqliteClaimRequest,
    file: &PoolFile,
) -> Result<Option<Lookup>, Error> {
    let text = Arc::clone(&file.table(&request.table).probe);
    let row = match of_key(text, request).fetch_optional(&mut *conn).await {
        Ok(Some(row)) => row,
        Ok(None) => return Ok(None),
        Err(error) => return Err(Box::pin(wrong_or(conn, &request.table, error)).await),
    };
    if row.try_get::<bool, _>("dirty").map_err(error::map_error)? {
        // The record read may be another attempt's that is never committed.
        return Err(SchemaFault::ReadUncommitted.into());
    }
    Ok(Some(Lookup {
        record: row::record(&row, row::text)?,
        lock: Lock::NotAsked,
        now: row::timestamp(&row, "now")?,
    }))
}

/// Takes the write lock, sets the savepoint, and looks the record up: no other record can appear from here to
/// COMMIT, and nothing that is not committed can be read.
pub(super) async fn claim(
    conn: &mut SqliteConnection,
    request: &SqliteClaimRequest,
    file: &PoolFile,
) -> Result<SqliteFound, Error> {
    let table = file.table(&request.table);
    let answers = send(conn, of_key(Arc::clone(&table.claim), request)).await;
    if let Some(error) = answers.failed {
        return Err(Box::pin(wrong_or(conn, &request.table, error)).await);
    }
    let (Some(version), Some(journal)) = (
        answers.of(sql::unit::SCHEMA_VERSION).next(),
        answers.of(sql::unit::JOURNAL_MODE).next(),
    ) else {
        return Err(Error::Database(sqlx::Error::RowNotFound.into()));
    };
    let version: i64 = version.try_get(0).map_err(error::map_error)?;
    let journal: &str = journal.try_get(0).map_err(error::map_error)?;
    let mut lookup = Lookup {
        record: None,
        lock: Lock::Granted,
        now: Timestamp::from_micros(0),
    };
    let mut has_own_triggers = false;
    for row in answers.of(sql::unit::LOOK_UP) {
        match row::record(row, row::text)? {
            None => has_own_triggers = true,
            record => {
                lookup.record = record;
                lookup.now = row::timestamp(row, "now")?;
            }
        }
    }
    let verified =
        !has_own_triggers && table.is_verified(version) && verify::is_undone(journal, file.path());
    Ok(SqliteFound {
        lookup,
        claim: SqliteHeldClaim {
            request: request.clone(),
            snapshot: false,
            verified,
            dialect: SqliteClaim {
                running: None,
                savepoint: Savepoint::OfUnit {
                    table,
                    schema_version: version,
                },
            },
        },
    })
}

/// Releases the savepoint and writes the record.
pub(super) async fn record(
    conn: &mut SqliteConnection,
    claim: &SqliteHeldClaim,
    record: &NewRecord<'_>,
    body_writes: BodyWrites,
) -> Result<Written, Error> {
    let text = match (&claim.dialect.savepoint, record.replaces, body_writes) {
        (Savepoint::OfUnit { table, .. }, None, BodyWrites::Keep) => Arc::clone(&table.record),
        (_, replaces, _) => {
            sql::unit::record(&claim.request.table, replaces.is_some(), body_writes).into()
        }
    };
    let query = bind_record(sqlx::query(AssertSqlSafe(text)), claim, record);
    let answers = send(conn, query).await;
    let ends = sql::unit::statements_to_end_savepoint(body_writes);
    match answers.failed {
        Some(error) if answers.done < ends => Err(error::savepoint_error(error)),
        None if answers.affected == 1 => Ok(Written::Done),
        failed => {
            let rows = failed.map_or(Ok(answers.affected), Err);
            Box::pin(written(conn, claim, record, rows)).await
        }
    }
}

/// What the statements of a text answered.
#[derive(Default)]
struct TextAnswers {
    /// The rows, each with the number of its statement, from zero.
    rows: Vec<(usize, SqliteRow)>,
    /// How many statements are done.
    done: usize,
    /// How many rows the last of them changed. For a statement that changes none of its own the driver reports
    /// those of an earlier one: the statements before the last are not asked.
    affected: u64,
    /// The error that kept the others from being done.
    failed: Option<sqlx::Error>,
}

impl TextAnswers {
    /// Returns the rows of one statement.
    fn of(&self, statement: usize) -> impl Iterator<Item = &SqliteRow> {
        let is_of = move |row: &&(usize, SqliteRow)| row.0 == statement;
        self.rows.iter().filter(is_of).map(|(_, row)| row)
    }
}

async fn send(
    conn: &mut SqliteConnection,
    query: Query<'_, Sqlite, SqliteArguments>,
) -> TextAnswers {
    let mut all = TextAnswers::default();
    let mut answers = conn.fetch_many(query);
    loop {
        match poll_fn(|context| answers.as_mut().poll_next(context)).await {
            Some(Ok(Either::Left(answer))) => {
                all.done += 1;
                all.affected = answer.rows_affected();
            }
            Some(Ok(Either::Right(row))) => all.rows.push((all.done, row)),
            Some(Err(error)) => {
                all.failed = Some(error);
                return all;
            }
            None => return all,
        }
    }
}

fn of_key(text: Arc<str>, request: &SqliteClaimRequest) -> Query<'_, Sqlite, SqliteArguments> {
    sqlx::query(AssertSqlSafe(text))
        .bind(request.identity.namespace())
        .bind(request.identity.scope().as_str())
        .bind(request.identity.key().as_str())
}
