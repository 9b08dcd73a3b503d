//! Checks that a connection's answer belongs to the statement that was sent.
//!
//! A COPY that was neither finished nor aborted, one whose stream was not read to its end, and one that the
//! server refused leave answers behind that the driver does not count (sqlx 0.9). From then on each statement
//! gets the answer of an earlier one.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Error, Executor as _, Row as _};
use uuid::Uuid;

use super::{error, sql};

/// Asks for a random word and returns whether the server answers it. Changes nothing.
///
/// A statement that the driver has queued, and counts, may fail first, such as a ROLLBACK where there is
/// nothing to roll back. So an error is no answer yet.
pub(super) async fn is_in_sync(conn: &mut PgConnection) -> Result<bool, Error> {
    for _ in 0..TRIES {
        let word = Uuid::new_v4().simple().to_string();
        let asked = AssertSqlSafe(sql::say(&word));
        let error = match conn.fetch_optional(sqlx::raw_sql(asked)).await {
            Ok(row) => {
                let answer = row.and_then(|row| row.try_get::<String, _>(0).ok());
                return Ok(answer == Some(word));
            }
            Err(error) => error,
        };
        if is_lost(&error) {
            return Err(error);
        }
        if error::is_aborted(&error) && is_refused_by_name(conn).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

const TRIES: u32 = 3;

/// Does the same in an aborted transaction, where the server answers only statements that it cannot even parse:
/// it names the word at which parsing failed.
async fn is_refused_by_name(conn: &mut PgConnection) -> Result<bool, Error> {
    let word = format!("idem_{}", Uuid::new_v4().simple());
    let asked = AssertSqlSafe(word.clone());
    match conn.execute(sqlx::raw_sql(asked)).await {
        Ok(_) => Ok(false),
        Err(error) if is_lost(&error) => Err(error),
        Err(error) => Ok(error::names(&error, &word)),
    }
}

/// Returns whether the connection is lost, and not whether the driver has misread an answer.
fn is_lost(error: &Error) -> bool {
    error::is_ambiguous(error) && !matches!(error, Error::Protocol(_))
}

/// Ends the session of a connection that is another's to close. Its next user learns that it is gone, and does
/// not get another statement's answer.
pub(super) async fn hang_up(conn: &mut PgConnection) {
    // Each statement reads one of the answers that are left; the last is the server's farewell. A role that may
    // not end its own session does not reach it.
    for _ in 0..MOST_ANSWERS {
        let Err(error) = conn.execute(sqlx::raw_sql(sql::END_SESSION)).await else {
            continue;
        };
        if is_lost(&error) {
            return;
        }
    }
}

/// How many answers may be left before a session that does not end is given up: one row each of a COPY whose
/// stream was not read.
const MOST_ANSWERS: u32 = 1_000;
