//! Checks that a connection's answer belongs to the statement that was sent.
//!
//! A query that is dropped while it is being prepared leaves answers behind that the driver does not count
//! (sqlx 0.9). From then on a statement gets the answer of an earlier one, or waits for one that never comes.

use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Either, Error, Executor as _, Row as _};
use tokio::time::timeout;
use uuid::Uuid;

use super::{error, sql};
use crate::values::error::Silence;

/// How long a connection may take to answer a query that costs the server nothing: 5 seconds.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// Why a message failed.
pub(super) struct Failed {
    /// How many of its statements were done before.
    pub(super) done: usize,
    pub(super) error: Error,
}

/// Sends statements in one message, after a query for a random number, and returns their rows. The statements have
/// no time limit; the number has one.
pub(super) async fn rows(
    conn: &mut MySqlConnection,
    statements: &str,
) -> Result<Vec<MySqlRow>, Failed> {
    rows_behind(conn, &[], statements).await
}

/// Sends statements as [`rows`] does, with `leading` before the number: statements that return no rows, and that
/// cost the server nothing.
pub(super) async fn rows_behind(
    conn: &mut MySqlConnection,
    leading: &[String],
    statements: &str,
) -> Result<Vec<MySqlRow>, Failed> {
    let number = Uuid::new_v4().as_u64_pair().0 >> 1;
    let text = AssertSqlSafe(sql::with_number(leading, number, statements));
    let mut answers = conn.fetch_many(sqlx::raw_sql(text));
    let until_number = async {
        for done in 0..=leading.len() {
            // The driver may panic if a packet is of an unexpected kind.
            let answer = poll_fn(|context| {
                let polled = catch_unwind(AssertUnwindSafe(|| answers.as_mut().poll_next(context)));
                polled.unwrap_or(Poll::Ready(None))
            });
            match answer.await {
                Some(Ok(Either::Left(_))) if done < leading.len() => {}
                Some(Ok(Either::Right(row))) if done == leading.len() => {
                    let number = row.try_get::<i64, _>(0).ok();
                    return Awaited::Number(number.and_then(|number| u64::try_from(number).ok()));
                }
                Some(Err(error)) => return Awaited::Error(done, error),
                Some(Ok(_)) | None => return Awaited::Other,
            }
        }
        Awaited::Other
    };
    let unmet = |done| Failed {
        done,
        error: Error::Protocol(UNMET.into()),
    };
    match timeout(ANSWERS_WITHIN, until_number)
        .await
        .unwrap_or(Awaited::Nothing)
    {
        Awaited::Nothing => {
            let silence = Silence {
                within: ANSWERS_WITHIN,
            };
            return Err(Failed {
                done: 0,
                error: silence.into(),
            });
        }
        Awaited::Number(answer) if answer == Some(number) => {}
        Awaited::Error(done, error) if is_readable(&error) => return Err(Failed { done, error }),
        Awaited::Number(_) | Awaited::Error(..) | Awaited::Other => return Err(unmet(0)),
    }
    let (mut ends, mut rows) = (leading.len(), Vec::new());
    loop {
        match poll_fn(|context| answers.as_mut().poll_next(context)).await {
            Some(Ok(Either::Left(_))) => ends += 1,
            Some(Ok(Either::Right(row))) => rows.push(row),
            Some(Err(error)) => {
                // The number's own end is not one of theirs.
                let done = ends.saturating_sub(1).max(leading.len());
                let error = broken_off(error);
                return Err(Failed { done, error });
            }
            None => return Ok(rows),
        }
    }
}

const UNMET: &str = "the answer was not that of the statement sent";

/// What was read up to the number.
enum Awaited {
    Number(Option<u64>),
    /// An error, after so many statements.
    Error(usize, Error),
    /// An answer of another kind.
    Other,
    /// No answer in time.
    Nothing,
}

/// Converts an error of a statement behind the number. The answers were in step there: if the driver does not
/// understand one, the server has broken it off. MariaDB (10.11) does so if Galera undoes the transaction meanwhile:
/// it runs the statement again, outside any transaction, behind the half of its answer that is sent already.
fn broken_off(error: Error) -> Error {
    match error {
        Error::Protocol(_) => io::Error::from(io::ErrorKind::InvalidData).into(),
        error => error,
    }
}

/// Sends statements as [`rows`] does, whose rows nobody reads.
pub(super) async fn send(conn: &mut MySqlConnection, statements: &str) -> Result<(), Error> {
    match rows(conn, statements).await {
        Ok(_) => Ok(()),
        Err(failed) => Err(failed.error),
    }
}

/// Maps an error of a message that checks whether the answers are in step.
pub(super) fn map_error(error: Error) -> crate::values::error::Error {
    if matches!(error, Error::Protocol(_)) {
        crate::values::error::Error::StatementUnfinished(error.into())
    } else {
        error::map_error(error)
    }
}

/// Returns whether the server reported the error, or the connection failed.
fn is_readable(error: &Error) -> bool {
    matches!(
        error,
        Error::Database(_) | Error::Io(_) | Error::Tls(_) | Error::WorkerCrashed
    )
}

/// Returns whether the connection's answers are out of step, or none comes.
pub(super) fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Protocol(_)) || Silence::is(error)
}

/// Ends the session of a connection that is another's to close. Its next user learns that it is gone.
///
/// This does not work if the driver waits for an answer that never comes. It sends nothing then: each of its
/// statements first reads the answers that it counts as missing, and only the driver's own ROLLBACK, that of a
/// dropped transaction, is written before. The server answers it with OK, which does not end that wait. Nor can
/// the connection be closed through a reference, or be replaced, because its server's address cannot be read
/// from it. If the owner of a transaction on such a connection drops it, it is rolled back all the same.
pub(super) async fn hang_up(conn: &mut MySqlConnection) {
    for _ in 0..TRIES {
        let mut killed = conn.execute(sqlx::raw_sql(sql::END_SESSION));
        let killed = poll_fn(|context| {
            let polled = catch_unwind(AssertUnwindSafe(|| killed.as_mut().poll(context)));
            polled.unwrap_or(Poll::Ready(Err(Error::WorkerCrashed)))
        });
        if let Ok(Err(Error::Io(_))) = timeout(HANGS_UP_WITHIN, killed).await {
            return;
        }
    }
}

const TRIES: u32 = 4;
const HANGS_UP_WITHIN: Duration = Duration::from_millis(500);
