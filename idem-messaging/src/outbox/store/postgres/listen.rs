//! Listening for the notifications of `0003_idem_outbox_notify.sql`.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use sqlx::postgres::{PgListener, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Error, Executor as _};
use tokio::time::{sleep, timeout};

use super::sql;
use crate::outbox::wake::Ears;

/// The longest time until the connection listens, and the longest for an answer while it is tried.
const ANSWER: Duration = Duration::from_secs(10);

/// The longest time to a new connection.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));

/// Listens, over a connection beside the pool, and listens again whenever the connection is lost.
///
/// After `keepalive` without a notification the connection is tried: a link that was cut somewhere on the way says nothing
/// either.
pub(super) async fn listen(
    pool: &PgPool,
    table: &str,
    ears: &Ears,
    keepalive: Duration,
) -> Infallible {
    let mut failures = 0;
    loop {
        let Err(error) = hear(pool, table, ears, keepalive, &mut failures).await;
        ears.set_listening(false);
        tracing::warn!(target: "idem_messaging::relay", error = %error, table, "the relay listens for no notifications, and tries again; it polls meanwhile");
        let (base, most) = PAUSE;
        let limit = base.saturating_mul(1 << failures.min(16)).min(most);
        failures += 1;
        sleep(limit.mul_f64(fastrand::f64())).await;
    }
}

/// Listens until the connection is lost.
async fn hear(
    pool: &PgPool,
    table: &str,
    ears: &Ears,
    keepalive: Duration,
    failures: &mut u32,
) -> Result<Infallible, Error> {
    let mut listener = within(ANSWER, begin(pool, table)).await?;
    *failures = 0;
    ears.set_listening(true);
    // For what was committed before.
    ears.hear();
    loop {
        match timeout(keepalive, listener.try_recv()).await {
            Ok(Ok(Some(_))) => ears.hear(),
            Ok(Ok(None)) => return Err(io::Error::from(io::ErrorKind::ConnectionAborted).into()),
            Ok(Err(error)) => return Err(error),
            Err(_) => {
                within(ANSWER.min(keepalive), listener.execute("SELECT 1")).await?;
            }
        }
    }
}

/// Opens the connection, and listens on it.
async fn begin(pool: &PgPool, table: &str) -> Result<PgListener, Error> {
    let beside = PgPoolOptions::new()
        .max_connections(1)
        .connect_lazy_with(pool.connect_options().as_ref().clone());
    let mut listener = PgListener::connect_with(&beside).await?;
    listener.eager_reconnect(false);
    // The table's number, because a name means another table under another search_path.
    let (number, is_notified): (Option<i64>, bool) = sqlx::query_as(AssertSqlSafe(sql::notified()))
        .persistent(false)
        .bind(table)
        .fetch_one(&mut listener)
        .await?;
    let number = number.ok_or_else(|| Error::Configuration("there is no such table".into()))?;
    if !is_notified {
        tracing::warn!(target: "idem_messaging::relay", table, "the relay listens, and nobody notifies: run the migration `outbox::schema::postgres_notify`");
    }
    listener.listen(&format!("idem:outbox:{number}")).await?;
    Ok(listener)
}

/// An answer in time, or an error as if the link were cut.
async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let answer = timeout(limit, work).await;
    answer.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
}
