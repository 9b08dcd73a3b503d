//! The outbox in SQLite. A database has one writer at a time, so that nobody comes between two statements of a
//! transaction that began with `BEGIN IMMEDIATE`.

mod row;
mod settle;
mod sql;

use std::collections::BTreeMap;
use std::time::Duration;

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, Error, Executor as _, Sqlite, SqliteTransaction};
use uuid::Uuid;

#[cfg(any(feature = "metrics", feature = "operate"))]
use super::OutboxSample;
use super::dialect::Store;
use super::verdict::{self, ClaimVerdict, Due};
use super::{ClaimRequest, Claimed, Insertion, Selection, Settlement, micros};
use crate::outbox::event::{Deliver, Event};

impl Store for Sqlite {
    const MIGRATION: &'static str =
        include_str!("../../../../migrations/sqlite/0001_idem_outbox.sql");
    const OWN_CONNECTION: bool = false;

    type Horizon = ();

    async fn insert(
        conn: &mut SqliteConnection,
        table: &str,
        event: &Event,
    ) -> Result<Insertion, Error> {
        let (at, after) = match event.deliver {
            Deliver::AtOnce => (None, Duration::ZERO),
            Deliver::At(at) => (Some(at.as_micros()), Duration::ZERO),
            Deliver::After(delay) => (None, delay),
        };
        let inserted = sqlx::query(AssertSqlSafe(sql::insert(table)))
            .bind(at)
            .bind(micros(after))
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
            .bind(&event.payload)
            .fetch_optional(conn)
            .await?;
        Ok(match inserted {
            Some(_) => Insertion::Inserted,
            None => Insertion::Duplicate,
        })
    }

    /// An INSERT holds the database's write lock until the end of the transaction: every append is ordered.
    async fn lock_partition(
        _conn: &mut SqliteConnection,
        _table: &str,
        _topic: &str,
        _partition_key: &str,
    ) -> Result<(), Error> {
        Ok(())
    }

    async fn claim(
        conn: &mut SqliteConnection,
        table: &str,
        request: ClaimRequest,
        _nothing: &mut (),
    ) -> Result<Claimed, Error> {
        let is_due: bool = sqlx::query_scalar(AssertSqlSafe(sql::is_due(table)))
            .fetch_one(&mut *conn)
            .await?;
        if !is_due {
            return Ok(Claimed::default());
        }
        let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
        let due: Vec<Due> = sqlx::query_as(AssertSqlSafe(sql::due(table)))
            .bind(request.limit)
            .fetch_all(&mut *tx)
            .await?
            .into_iter()
            .map(|(seq, topic, partition_key)| Due {
                seq,
                topic,
                partition_key,
            })
            .collect();
        let paused: Vec<String> = sqlx::query_scalar(AssertSqlSafe(sql::paused(table)))
            .fetch_all(&mut *tx)
            .await?;
        let mut first = BTreeMap::new();
        for (topic, key) in verdict::partitions(&due) {
            let seqs: Vec<i64> = sqlx::query_scalar(AssertSqlSafe(sql::not_left(table)))
                .bind(&topic)
                .bind(&key)
                .bind(request.limit.saturating_add(1))
                .fetch_all(&mut *tx)
                .await?;
            first.insert((topic, key), seqs);
        }
        let verdict = verdict::decide(&due, &first, &paused.into_iter().collect());
        let claimed = write(&mut tx, table, request, verdict).await?;
        tx.commit().await?;
        Ok(claimed)
    }

    async fn settle(
        conn: &mut SqliteConnection,
        table: &str,
        settlements: &[Settlement],
        keep: bool,
        _horizon: &(),
    ) -> Result<Vec<(i64, Uuid)>, Error> {
        let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
        let written = settle::settle(&mut tx, table, settlements, keep).await?;
        tx.commit().await?;
        Ok(written)
    }

    async fn revive(
        conn: &mut SqliteConnection,
        table: &str,
        state: i16,
        selection: &Selection,
    ) -> Result<u64, Error> {
        let query = sqlx::query(AssertSqlSafe(sql::revive(table, state, selection)));
        let query = match selection {
            Selection::Id(text) | Selection::Topic(text) => query.bind(text),
            Selection::Between(from, to) => query.bind(from.as_micros()).bind(to.as_micros()),
        };
        Ok(query.execute(conn).await?.rows_affected())
    }

    async fn pause(conn: &mut SqliteConnection, table: &str, topic: &str) -> Result<(), Error> {
        sqlx::query(AssertSqlSafe(sql::pause(table)))
            .bind(topic)
            .execute(conn)
            .await?;
        Ok(())
    }

    async fn resume(
        conn: &mut SqliteConnection,
        table: &str,
        topic: &str,
        limit: u32,
    ) -> Result<u64, Error> {
        let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query(AssertSqlSafe(sql::unpause(table)))
            .bind(topic)
            .execute(&mut *tx)
            .await?;
        let done = sqlx::query(AssertSqlSafe(sql::resume(table)))
            .bind(topic)
            .bind(limit)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(done.rows_affected())
    }

    async fn purge(
        conn: &mut SqliteConnection,
        table: &str,
        state: i16,
        retention: Duration,
        limit: u32,
    ) -> Result<u64, Error> {
        let done = sqlx::query(AssertSqlSafe(sql::purge(table)))
            .bind(state)
            .bind(micros(retention))
            .bind(limit)
            .execute(conn)
            .await?;
        Ok(done.rows_affected())
    }

    #[cfg(any(feature = "metrics", feature = "operate"))]
    async fn sample(conn: &mut SqliteConnection, table: &str) -> Result<OutboxSample, Error> {
        let found = sqlx::query_as(AssertSqlSafe(sql::sample(table)));
        let (pending, dead, oldest): (i64, i64, Option<i64>) = found.fetch_one(conn).await?;
        Ok(OutboxSample {
            pending,
            dead,
            oldest: oldest.unwrap_or(0),
        })
    }

    async fn create(
        conn: &mut SqliteConnection,
        table: &str,
        migration: String,
    ) -> Result<(), Error> {
        let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
        let name = table.rsplit_once('.').map_or(table, |(_, name)| name);
        let schema = table.rsplit_once('.').map_or("main", |(schema, _)| schema);
        // Both are checked identifiers.
        let exists = format!(
            "SELECT EXISTS (SELECT 1 FROM {schema}.sqlite_master WHERE type = 'table' AND name = '{name}')"
        );
        let exists: bool = sqlx::query_scalar(AssertSqlSafe(exists))
            .fetch_one(&mut *tx)
            .await?;
        if !exists {
            tx.execute(sqlx::raw_sql(AssertSqlSafe(migration))).await?;
        }
        tx.commit().await
    }

    async fn verify(conn: &mut SqliteConnection, table: &str) -> Result<Vec<String>, Error> {
        sqlx::query_scalar(sql::UNFIT)
            .bind(table)
            .fetch_all(conn)
            .await
    }
}

async fn write(
    tx: &mut SqliteTransaction<'_>,
    table: &str,
    request: ClaimRequest,
    verdict: ClaimVerdict,
) -> Result<Claimed, Error> {
    let waiting: Vec<_> = verdict.waiting.into_values().flatten().collect();
    let mut put_aside = 0;
    for (state, seqs) in [(3, waiting), (4, verdict.held)] {
        if !seqs.is_empty() {
            let text = sql::put_aside(table, state, &verdict::list(&seqs));
            let done = sqlx::query(AssertSqlSafe(text))
                .persistent(false)
                .execute(&mut **tx)
                .await?;
            put_aside += done.rows_affected();
        }
    }
    let mut events = Vec::new();
    if !verdict.claimed.is_empty() {
        let text = sql::claim(table, &verdict::list(&verdict.claimed));
        let rows = sqlx::query(AssertSqlSafe(text))
            .persistent(false)
            .bind(micros(request.lease))
            .bind(request.token)
            .fetch_all(&mut **tx)
            .await?;
        events = rows.iter().map(row::claimed).collect::<Result<_, _>>()?;
        events.sort_unstable_by_key(|claimed: &super::ClaimedEvent| claimed.seq);
    }
    Ok(Claimed { events, put_aside })
}
