//! Sends statements as text, several in one message, and reads their rows.

use std::future::poll_fn;

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Either, Executor as _, Row as _};

use super::super::session::Session as _;
use super::{error, sql};
use crate::values::error::{Error, MessageTooLong};
use crate::values::record::Timestamp;

/// Sends statements in one message, and returns all their rows.
pub(super) async fn rows(
    conn: &mut MySqlConnection,
    text: String,
) -> Result<Vec<MySqlRow>, sqlx::Error> {
    fits(conn, &text).await?;
    sqlx::raw_sql(AssertSqlSafe(text)).fetch_all(conn).await
}

/// Sends statements in one message, and returns all their rows, and the number of rows that they have changed.
pub(super) async fn write(
    conn: &mut MySqlConnection,
    text: String,
) -> Result<(Vec<MySqlRow>, u64), sqlx::Error> {
    fits(conn, &text).await?;
    let mut answers = conn.fetch_many(sqlx::raw_sql(AssertSqlSafe(text)));
    let (mut rows, mut changed) = (Vec::new(), 0);
    while let Some(answer) = poll_fn(|context| answers.as_mut().poll_next(context)).await {
        match answer? {
            Either::Left(done) => changed += done.rows_affected(),
            Either::Right(row) => rows.push(row),
        }
    }
    Ok((rows, changed))
}

/// Sends a statement in its own transaction, unless a transaction is open: if autocommit is off, the statement
/// would leave one open.
pub(super) async fn alone(
    conn: &mut MySqlConnection,
    text: String,
) -> Result<Vec<MySqlRow>, sqlx::Error> {
    if !conn.has_transaction() {
        match rows(conn, sql::alone(&text)).await {
            Err(error) if error::is_in_transaction(&error) => {}
            Err(error) => {
                conn.execute(sql::END).await?;
                return Err(error);
            }
            done => return done,
        }
    }
    rows(conn, text).await
}

/// Returns the server's time.
pub(super) async fn clock(conn: &mut MySqlConnection) -> Result<Timestamp, Error> {
    let shown = rows(conn, sql::clock()).await.map_err(error::map_error)?;
    super::super::row::timestamp(&last(shown)?, "now")
}

/// The bytes that every server accepts unless it is set to less: its `net_buffer_length`.
const TAKEN: usize = 16 * 1024;

/// Returns whether the server need not be asked whether it accepts a message of this length.
pub(super) fn goes_unasked(text: &str) -> bool {
    text.len() < TAKEN
}

/// Refuses a message that is too long for the server. The server hangs up on it, which would look like a lost
/// connection, and the message would be sent again and again.
pub(super) async fn fits(conn: &mut MySqlConnection, text: &str) -> Result<(), sqlx::Error> {
    if goes_unasked(text) {
        return Ok(());
    }
    let limit = sqlx::raw_sql(sql::MAX_PACKET);
    let limit: i64 = limit.fetch_one(conn).await?.try_get("bytes")?;
    // One byte marks the message as a query.
    if usize::try_from(limit).is_ok_and(|limit| text.len() + 1 < limit) {
        return Ok(());
    }
    let too_long = MessageTooLong {
        bytes: text.len(),
        limit,
        setting: "max_allowed_packet",
    };
    Err(sqlx::Error::Encode(Box::new(too_long)))
}

pub(super) fn last(rows: Vec<MySqlRow>) -> Result<MySqlRow, Error> {
    let row = rows.into_iter().next_back();
    row.ok_or_else(|| Error::Database(sqlx::Error::RowNotFound.into()))
}
