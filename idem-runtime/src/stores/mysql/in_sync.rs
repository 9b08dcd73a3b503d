//! Is a connection's answer the answer to what it was asked?
//!
//! A query that is dropped while it is being prepared leaves answers behind that the driver does not
//! count (sqlx 0.9). From then on a statement gets the answer of one before it, or waits for one that
//! never comes.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Error, Executor as _, Row as _};
use tokio::time::timeout;
use uuid::Uuid;

use super::sql;

/// How long a connection may take to answer a question that costs the server nothing: 5 seconds.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// Sends statements in one message, behind a question for a random number. They may take as long as they
/// like; the number may not.
pub(super) async fn send(conn: &mut MySqlConnection, statements: &str) -> Result<(), Error> {
    let number = Uuid::new_v4().as_u64_pair().0 >> 1;
    let text = AssertSqlSafe(sql::behind_number(number, statements));
    let mut rows = conn.fetch(sqlx::raw_sql(text));
    // The driver may panic over a packet of another kind than it expects.
    let first = poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| rows.as_mut().poll_next(context)));
        polled.unwrap_or(Poll::Ready(None))
    });
    let answer = match timeout(ANSWERS_WITHIN, first).await {
        Ok(Some(Ok(row))) => row.try_get::<i64, _>(0).ok(),
        Ok(Some(Err(error))) if is_readable(&error) => return Err(error),
        Ok(Some(Err(_)) | None) | Err(_) => None,
    };
    if answer.and_then(|answer| u64::try_from(answer).ok()) != Some(number) {
        let unmet = "the answer was not that of the statement sent, or did not come";
        return Err(Error::Protocol(unmet.into()));
    }
    while let Some(row) = poll_fn(|context| rows.as_mut().poll_next(context)).await {
        row?;
    }
    Ok(())
}

/// Whether the server said it, or the link failed.
fn is_readable(error: &Error) -> bool {
    matches!(
        error,
        Error::Database(_) | Error::Io(_) | Error::Tls(_) | Error::WorkerCrashed
    )
}

/// Whether the connection no longer answers what it is asked.
pub(super) fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Protocol(_))
}

/// Ends the session, where the connection is another's to close: whoever uses it next learns that it is
/// gone.
///
/// Not where the driver waits for an answer that never comes. It sends nothing then: each of its statements
/// first reads what it has counted as missing, and only a ROLLBACK of the driver's own, that of a dropped
/// transaction, is written before. What the server answers to it is OK, which does not end that wait. Nor can
/// the connection be closed through a reference, or another be put in its place: where it leads to is not
/// to be had from it. A transaction on such a connection whose owner drops it is rolled back all the same.
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
