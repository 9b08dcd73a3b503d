//! The outbox in MySQL and MariaDB.

mod row;
mod settle;
mod sql;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use idem_runtime::IdempotencyKey;
use sqlx::mysql::{MySqlConnection, MySqlDatabaseError};
use sqlx::{
    AssertSqlSafe, Connection as _, Error, Executor as _, MySql, MySqlTransaction, Row as _,
};
use uuid::Uuid;

#[cfg(any(feature = "metrics", feature = "operate"))]
use super::OutboxSample;
use super::dialect::Store;
use super::verdict::{self, ClaimVerdict, Due, Partition, list};
use super::{ClaimRequest, Claimed, Insertion, Selection, Settlement, micros};
use crate::outbox::event::{Deliver, Event};

/// The number of locks that ordered appends share.
const SLOTS: u64 = 4_096;

/// A unique index has the value already. The statement is undone, and the transaction goes on.
const DUPLICATE: u16 = 1062;

impl Store for MySql {
    const MIGRATION: &'static str =
        include_str!("../../../../migrations/mysql/0001_idem_outbox.sql");
    const OWN_CONNECTION: bool = true;

    type Horizon = ();

    async fn insert(
        conn: &mut MySqlConnection,
        table: &str,
        event: &Event,
    ) -> Result<Insertion, Error> {
        let (at, after) = match event.deliver {
            Deliver::AtOnce => (None, Duration::ZERO),
            Deliver::At(at) => (Some(at.as_micros()), Duration::ZERO),
            Deliver::After(delay) => (None, delay),
        };
        let optional = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
        let done = sqlx::query(AssertSqlSafe(sql::insert(table)))
            .bind(at)
            .bind(micros(after))
            .bind(event.id.as_str().as_bytes())
            .bind(event.topic.as_bytes())
            .bind(optional(&event.partition_key))
            .bind(event.kind.as_bytes())
            .bind(event.source.as_bytes())
            .bind(optional(&event.subject))
            .bind(event.content_type.as_bytes())
            .bind(optional(&event.traceparent))
            .bind(optional(&event.tracestate))
            .bind(optional(&event.headers_text()))
            .bind(&event.payload)
            .bind(i64::from(at.is_some() || micros(after) != 0))
            .bind(at)
            .bind(micros(after))
            .execute(conn)
            .await;
        match done {
            Ok(done) if done.rows_affected() == 1 => Ok(Insertion::Inserted),
            Ok(_) => Ok(Insertion::NoTransaction),
            Err(error) if number(&error) == Some(DUPLICATE) => Ok(Insertion::Duplicate),
            Err(error) => Err(error),
        }
    }

    async fn lock_partition(
        conn: &mut MySqlConnection,
        table: &str,
        topic: &str,
        partition_key: &str,
    ) -> Result<(), Error> {
        sqlx::query(AssertSqlSafe(sql::lock_partition(table)))
            .bind(slot(topic, partition_key))
            .execute(conn)
            .await?;
        Ok(())
    }

    async fn claim(
        conn: &mut MySqlConnection,
        table: &str,
        request: ClaimRequest,
        _nothing: &mut (),
    ) -> Result<Claimed, Error> {
        let is_due: i64 = sqlx::query_scalar(AssertSqlSafe(sql::is_due(table)))
            .fetch_one(&mut *conn)
            .await?;
        if is_due == 0 {
            return Ok(Claimed::default());
        }
        let mut tx = begin(conn).await?;
        let mut due = Vec::new();
        for row in sqlx::query(AssertSqlSafe(sql::due(table)))
            .bind(request.limit)
            .fetch_all(&mut *tx)
            .await?
        {
            due.push(Due {
                seq: row.try_get("seq")?,
                topic: row::text(&row, "topic")?,
                partition_key: row::optional(&row, "partition_key")?,
            });
        }
        let paused: Vec<Vec<u8>> = sqlx::query_scalar(AssertSqlSafe(sql::paused(table)))
            .fetch_all(&mut *tx)
            .await?;
        let paused = paused
            .into_iter()
            .filter_map(|topic| String::from_utf8(topic).ok())
            .collect();
        let first = not_left(&mut tx, table, verdict::partitions(&due), request.limit).await?;
        let verdict = verdict::decide(&due, &first, &paused);
        let claimed = write(&mut tx, table, request, verdict).await?;
        tx.commit().await?;
        Ok(claimed)
    }

    async fn settle(
        conn: &mut MySqlConnection,
        table: &str,
        settlements: &[Settlement],
        keep: bool,
        _horizon: &(),
    ) -> Result<Vec<(i64, Uuid)>, Error> {
        let mut tx = begin(conn).await?;
        let written = settle::settle(&mut tx, table, settlements, keep).await?;
        tx.commit().await?;
        Ok(written)
    }

    async fn revive(
        conn: &mut MySqlConnection,
        table: &str,
        state: i16,
        selection: &Selection,
    ) -> Result<u64, Error> {
        let query = sqlx::query(AssertSqlSafe(sql::revive(table, state, selection)));
        let query = match selection {
            Selection::Id(text) | Selection::Topic(text) => query.bind(text.as_bytes()),
            Selection::Between(from, to) => query.bind(from.as_micros()).bind(to.as_micros()),
        };
        Ok(query.execute(conn).await?.rows_affected())
    }

    async fn pause(conn: &mut MySqlConnection, table: &str, topic: &str) -> Result<(), Error> {
        sqlx::query(AssertSqlSafe(sql::pause(table)))
            .bind(topic.as_bytes())
            .execute(conn)
            .await?;
        Ok(())
    }

    /// A claim holds an event only under a lock on the topic's row, so none is held after the DELETE that the UPDATE
    /// does not see.
    async fn resume(
        conn: &mut MySqlConnection,
        table: &str,
        topic: &str,
        limit: u32,
    ) -> Result<u64, Error> {
        let mut tx = begin(conn).await?;
        sqlx::query(AssertSqlSafe(sql::unpause(table)))
            .bind(topic.as_bytes())
            .execute(&mut *tx)
            .await?;
        let done = sqlx::query(AssertSqlSafe(sql::resume(table)))
            .bind(topic.as_bytes())
            .bind(limit)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(done.rows_affected())
    }

    async fn purge(
        conn: &mut MySqlConnection,
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
    async fn sample(conn: &mut MySqlConnection, table: &str) -> Result<OutboxSample, Error> {
        let found = sqlx::query_as(AssertSqlSafe(sql::sample(table)));
        let (pending, dead, oldest): (i64, i64, Option<i64>) = found.fetch_one(conn).await?;
        Ok(OutboxSample {
            pending,
            dead,
            oldest: oldest.unwrap_or(0),
        })
    }

    async fn create(
        conn: &mut MySqlConnection,
        _table: &str,
        migration: String,
    ) -> Result<(), Error> {
        let migration = migration.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ");
        conn.execute(sqlx::raw_sql(AssertSqlSafe(migration)))
            .await?;
        Ok(())
    }

    async fn verify(conn: &mut MySqlConnection, table: &str) -> Result<Vec<String>, Error> {
        let (schema, name) = match table.split_once('.') {
            Some((schema, name)) => (Some(schema), name),
            None => (None, table),
        };
        sqlx::query_scalar(sql::UNFIT)
            .bind(schema)
            .bind(name)
            .fetch_all(conn)
            .await
    }
}

async fn begin(conn: &mut MySqlConnection) -> Result<MySqlTransaction<'_>, Error> {
    conn.execute(sqlx::raw_sql(sql::ISOLATION)).await?;
    conn.begin_with(sql::BEGIN).await
}

async fn execute(tx: &mut MySqlTransaction<'_>, text: String) -> Result<u64, Error> {
    let done = tx.execute(sqlx::raw_sql(AssertSqlSafe(text))).await?;
    Ok(done.rows_affected())
}

/// The first events of each partition that have not left. It is a read of its own, after the events that are due were
/// locked: whoever sees one of them sees all that were committed before it was appended.
async fn not_left(
    tx: &mut MySqlTransaction<'_>,
    table: &str,
    partitions: BTreeSet<Partition>,
    limit: u32,
) -> Result<BTreeMap<Partition, Vec<i64>>, Error> {
    let all: Vec<_> = partitions.iter().collect();
    if all.is_empty() {
        return Ok(BTreeMap::new());
    }
    let text = sql::not_left(table, &all, limit.saturating_add(1));
    let rows: Vec<(i64, i64)> = sqlx::query_as(AssertSqlSafe(text))
        .persistent(false)
        .fetch_all(&mut **tx)
        .await?;
    let mut first: BTreeMap<Partition, Vec<i64>> = BTreeMap::new();
    for (position, seq) in rows {
        if let Some(partition) = usize::try_from(position)
            .ok()
            .and_then(|position| all.get(position))
        {
            first.entry((*partition).clone()).or_default().push(seq);
        }
    }
    for seqs in first.values_mut() {
        seqs.sort_unstable();
    }
    Ok(first)
}

async fn write(
    tx: &mut MySqlTransaction<'_>,
    table: &str,
    request: ClaimRequest,
    verdict: ClaimVerdict,
) -> Result<Claimed, Error> {
    let mut waiting = Vec::new();
    if !verdict.waiting.is_empty() {
        let fronts: Vec<_> = verdict.waiting.keys().copied().collect();
        let locked: Vec<i64> = sqlx::query_scalar(AssertSqlSafe(sql::lock(table, &list(&fronts))))
            .persistent(false)
            .fetch_all(&mut **tx)
            .await?;
        for front in locked {
            waiting.extend(verdict.waiting.get(&front).into_iter().flatten());
        }
    }
    let mut put_aside = 0;
    for (state, seqs) in [(3, waiting), (4, verdict.held)] {
        if !seqs.is_empty() {
            put_aside += execute(tx, sql::put_aside(table, state, &list(&seqs))).await?;
        }
    }
    let mut events = Vec::new();
    if !verdict.claimed.is_empty() {
        let seqs = list(&verdict.claimed);
        sqlx::query(AssertSqlSafe(sql::claim(table, &seqs)))
            .persistent(false)
            .bind(micros(request.lease))
            .bind(request.token)
            .execute(&mut **tx)
            .await?;
        let rows = sqlx::query(AssertSqlSafe(sql::read(table, &seqs)))
            .persistent(false)
            .fetch_all(&mut **tx)
            .await?;
        events = rows.iter().map(row::claimed).collect::<Result<_, _>>()?;
    }
    Ok(Claimed { events, put_aside })
}

fn number(error: &Error) -> Option<u16> {
    let error = error.as_database_error()?;
    let error = error.try_downcast_ref::<MySqlDatabaseError>()?;
    Some(error.number())
}

/// The lock of a partition. Two partitions with one lock wait for each other, and nothing worse.
fn slot(topic: &str, partition_key: &str) -> u16 {
    let digest = IdempotencyKey::derive(["outbox partition", topic, partition_key]);
    let digits = digest.as_ref().map_or("0", |digest| &digest.as_str()[..16]);
    let number = u64::from_str_radix(digits, 16).unwrap_or_default();
    u16::try_from(number % SLOTS).unwrap_or_default()
}
