//! Checks that a connection's answer belongs to the statement that was sent.
//!
//! A query that is dropped while it is being prepared leaves answers behind that the driver does not count
//! (sqlx 0.9). From then on a statement gets the answer of an earlier one, or waits for one that never comes.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Either, Error, Executor as _, Row as _};
use tokio::time::timeout;
use uuid::Uuid;

use super::{error, sql};

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
    let number = Uuid::new_v4().as_u64_pair().0 >> 1;
    let text = AssertSqlSafe(sql::behind_number(number, statements));
    let mut answers = conn.fetch_many(sqlx::raw_sql(text));
    // The driver may panic if a packet is of an unexpected kind.
    let first = poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| answers.as_mut().poll_next(context)));
        polled.unwrap_or(Poll::Ready(None))
    });
    let lost = |error| Failed { done: 0, error };
    let answer = match timeout(ANSWERS_WITHIN, first).await {
        Ok(Some(Ok(Either::Right(row)))) => row.try_get::<i64, _>(0).ok(),
        Ok(Some(Err(error))) if is_readable(&error) => return Err(lost(error)),
        Ok(Some(Ok(Either::Left(_)) | Err(_)) | None) | Err(_) => None,
    };
    if answer.and_then(|answer| u64::try_from(answer).ok()) != Some(number) {
        let unmet = "the answer was not that of the statement sent, or did not come";
        return Err(lost(Error::Protocol(unmet.into())));
    }
    let (mut ends, mut rows) = (0_usize, Vec::new());
    loop {
        match poll_fn(|context| answers.as_mut().poll_next(context)).await {
            Some(Ok(Either::Left(_))) => ends += 1,
            Some(Ok(Either::Right(row))) => rows.push(row),
            Some(Err(error)) => {
                // The number's own end is not one of theirs.
                let done = ends.saturating_sub(1);
                return Err(Failed { done, error });
            }
            None => return Ok(rows),
        }
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
    if is_lost(&error) {
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

/// Returns whether the connection's answers are out of step.
pub(super) fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Protocol(_))
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
