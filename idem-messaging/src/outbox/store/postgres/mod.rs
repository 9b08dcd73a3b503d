//! The outbox in PostgreSQL.

mod claim;
mod horizon;
mod listen;
mod row;
mod sql;

#[cfg(feature = "operate")]
pub(in crate::outbox) use self::sql::notify as postgres_notify;

use std::convert::Infallible;
use std::time::{Duration, Instant};

use idem_runtime::IdempotencyKey;
use sqlx::postgres::{PgConnection, PgPool, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Error, Executor as _, Postgres, Row as _};
use uuid::Uuid;

use self::horizon::Horizon;
#[cfg(any(feature = "metrics", feature = "operate"))]
use super::OutboxSample;
use super::dialect::Store;
use super::{ClaimRequest, Claimed, Insertion, Selection, Settlement, micros};
use crate::outbox::event::{Deliver, Event};
use crate::outbox::wake::Ears;

/// Serialises those who create at once: `IF NOT EXISTS` alone does not.
const CREATE_LOCK: &str = "SELECT pg_advisory_xact_lock(3175804461190265217)";

impl Store for Postgres {
    const MIGRATION: &'static str =
        include_str!("../../../../migrations/postgres/0001_idem_outbox.sql");
    const OWN_CONNECTION: bool = true;

    type Horizon = Horizon;

    async fn insert(
        conn: &mut PgConnection,
        table: &str,
        event: &Event,
    ) -> Result<Insertion, Error> {
        if insert(conn, table, event).await? {
            return Ok(Insertion::Inserted);
        }
        sqlx::query(sql::NUMBER_TRANSACTION)
            .execute(&mut *conn)
            .await?;
        if insert(conn, table, event).await? {
            return Ok(Insertion::Inserted);
        }
        let in_transaction: bool = sqlx::query_scalar(AssertSqlSafe(sql::in_transaction()))
            .fetch_one(conn)
            .await?;
        Ok(if in_transaction {
            Insertion::Duplicate
        } else {
            Insertion::NoTransaction
        })
    }

    async fn lock_partition(
        conn: &mut PgConnection,
        table: &str,
        topic: &str,
        partition_key: &str,
    ) -> Result<(), Error> {
        sqlx::query(sql::LOCK_PARTITION)
            .bind(lock_number(table, topic, partition_key))
            .execute(conn)
            .await?;
        Ok(())
    }

    async fn claim(
        conn: &mut PgConnection,
        table: &str,
        request: ClaimRequest,
        horizon: &mut Horizon,
    ) -> Result<Claimed, Error> {
        horizon.begin(Instant::now());
        let rows = message(conn, claim::statement(table, request, horizon)).await?;
        claim::answer(&rows, horizon)
    }

    async fn settle(
        conn: &mut PgConnection,
        table: &str,
        settlements: &[Settlement],
        keep: bool,
        horizon: &Horizon,
    ) -> Result<Vec<(i64, Uuid)>, Error> {
        let (floor, _) = horizon.floor();
        let rows = message(conn, sql::settle(table, settlements, keep, floor)).await?;
        rows.iter()
            .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
            .collect()
    }

    async fn revive(
        conn: &mut PgConnection,
        table: &str,
        state: i16,
        selection: &Selection,
    ) -> Result<u64, Error> {
        Ok(message(conn, sql::revive(table, state, selection))
            .await?
            .len() as u64)
    }

    async fn pause(conn: &mut PgConnection, table: &str, topic: &str) -> Result<(), Error> {
        message(conn, sql::pause(table, topic)).await?;
        Ok(())
    }

    async fn resume(
        conn: &mut PgConnection,
        table: &str,
        topic: &str,
        limit: u32,
    ) -> Result<u64, Error> {
        Ok(message(conn, sql::resume(table, topic, limit)).await?.len() as u64)
    }

    async fn purge(
        conn: &mut PgConnection,
        table: &str,
        state: i16,
        retention: Duration,
        limit: u32,
    ) -> Result<u64, Error> {
        Ok(message(conn, sql::purge(table, state, retention, limit))
            .await?
            .len() as u64)
    }

    async fn listen(pool: &PgPool, table: &str, ears: &Ears, keepalive: Duration) -> Infallible {
        listen::listen(pool, table, ears, keepalive).await
    }

    #[cfg(any(feature = "metrics", feature = "operate"))]
    async fn sample(conn: &mut PgConnection, table: &str) -> Result<OutboxSample, Error> {
        // Without a name for the statement: a pooler may lend another connection the next time.
        let found = sqlx::query_as(AssertSqlSafe(sql::sample(table))).persistent(false);
        let (pending, dead, oldest): (i64, i64, Option<i64>) = found.fetch_one(conn).await?;
        Ok(OutboxSample {
            pending,
            dead,
            oldest: oldest.unwrap_or(0),
        })
    }

    async fn create(conn: &mut PgConnection, table: &str, migration: String) -> Result<(), Error> {
        let mut tx = conn.begin().await?;
        tx.execute("SET TRANSACTION READ WRITE").await?;
        tx.execute(CREATE_LOCK).await?;
        let missing: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NULL")
            .bind(table)
            .fetch_one(&mut *tx)
            .await?;
        if missing {
            tx.execute(sqlx::raw_sql(AssertSqlSafe(migration))).await?;
        }
        tx.commit().await
    }

    async fn verify(conn: &mut PgConnection, table: &str) -> Result<Vec<String>, Error> {
        sqlx::query_scalar(sql::UNFIT)
            .bind(table)
            .fetch_all(conn)
            .await
    }
}

/// Returns whether the event was inserted.
async fn insert(conn: &mut PgConnection, table: &str, event: &Event) -> Result<bool, Error> {
    let later = match event.deliver {
        Deliver::AtOnce | Deliver::After(Duration::ZERO) => None,
        Deliver::At(at) => Some((Some(at.as_micros()), 0)),
        Deliver::After(delay) => Some((None, micros(delay))),
    };
    let text = match later {
        None => sql::insert_ready(table),
        Some(_) => sql::insert_later(table),
    };
    let query = sqlx::query(AssertSqlSafe(text))
        .bind(event.id.as_str())
        .bind(&event.topic)
        .bind(&event.partition_key)
        .bind(&event.kind)
        .bind(&event.source)
        .bind(&event.subject)
        .bind(&event.content_type)
        .bind(&event.traceparent)
        .bind(&event.tracestate)
        .bind(event.headers_text())
        .bind(&event.payload);
    let query = match later {
        None => query,
        Some((at, after)) => query.bind(at).bind(after),
    };
    Ok(query.execute(conn).await?.rows_affected() == 1)
}

/// Sends a whole transaction as one message, and returns the rows of its statements that are to be read. After an error the transaction is ended; if that fails too, the connection
/// is of no more use, and whoever has it next is told so by the server.
async fn message(conn: &mut PgConnection, text: String) -> Result<Vec<PgRow>, Error> {
    let answer = conn.fetch_all(sqlx::raw_sql(AssertSqlSafe(text))).await;
    if answer.is_err() {
        let _ = conn.execute(sqlx::raw_sql("ROLLBACK")).await;
    }
    let is_answer = |row: &PgRow| row.try_column("unread").is_err();
    answer.map(|rows| rows.into_iter().filter(is_answer).collect())
}

/// The number of a partition's lock. Two partitions with one number wait for each other, and nothing worse.
fn lock_number(table: &str, topic: &str, partition_key: &str) -> i64 {
    let digest = IdempotencyKey::derive(["outbox partition", table, topic, partition_key]);
    let digits = digest.as_ref().map_or("0", |digest| &digest.as_str()[..16]);
    u64::from_str_radix(digits, 16)
        .unwrap_or_default()
        .cast_signed()
}
