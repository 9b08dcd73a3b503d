//! Measures a table that is partitioned by the time of expiry, whose purge drops a partition.

use sqlx::PgConnection;
use uuid::Uuid;

use super::counted::{bound, explained, insert, look_up, vacuum};
use super::{Bench, expiry, position, run_sql, table};
use crate::Fault;
use crate::numbers::{Sample, float};
use crate::processor::Processor;
use crate::report::table::{time, whole};
use crate::report::{Report, Table};

/// A partition for each day of a month. The first day's is purged.
const DAYS: usize = 30;

const WHOLE: &str = "unpartitioned";
const PARTED: &str = "partitioned";

pub(super) async fn run(
    bench: &mut Bench<'_>,
    session: &mut PgConnection,
    processor: &Processor,
    report: &mut Report,
) -> Result<(), Fault> {
    let rows = bench.options.records / 2;
    for name in [WHOLE, PARTED] {
        prepare(session, name, rows).await?;
    }
    let mut shown = Table::new(
        &format!(
            "Partitions by time: {} rows in {DAYS} partitions, and in one table; a day is purged",
            whole(float(rows))
        ),
        &[
            "table",
            "pages of a claim's look-up",
            "of an insert",
            "processor, look-up",
            "two records of one key",
            "rows purged",
            "processor",
            "WAL",
            "processor for a million rows",
        ],
    );
    for name in [WHOLE, PARTED] {
        let (mut read, mut written) = (Sample::default(), Sample::default());
        let mut server = Sample::default();
        for _ in 0..20 {
            let key = Uuid::now_v7().to_string();
            read.push(explained(session, &look_up(name, false), &key, None).await?);
            written.push(explained(session, &insert(name, false), &key, None).await?);
        }
        for _ in 0..bench.options.scaled(60) {
            let before = processor.elapsed()?;
            for _ in 0..10 {
                let key = Uuid::now_v7().to_string();
                let found = bound(&look_up(name, false), &key, None);
                if found.fetch_optional(&mut *session).await?.is_some() {
                    return Err("a fresh key has a record".into());
                }
            }
            let elapsed = processor.elapsed()?.since(before);
            server.push(elapsed.server.as_secs_f64() * 1e6 / 10.0);
        }
        let twice = takes_a_key_twice(session, name).await?;
        run_sql(session, "CHECKPOINT".into()).await?;
        let (position_before, before) = (position(session).await?, processor.elapsed()?);
        let purged = purge(session, name).await?;
        let elapsed = processor.elapsed()?.since(before).server.as_secs_f64() * 1e6;
        let wal = position(session).await? - position_before;
        // Dropping a partition takes as long whatever it holds.
        let million = match name {
            PARTED => "–".to_owned(),
            _ => time(elapsed * 1e6 / purged),
        };
        report.figure(&format!("partitions/{name}/look-up/pages"), read.median());
        report.figure(&format!("partitions/{name}/insert/pages"), written.median());
        report.figure(
            &format!("partitions/{name}/look-up/server"),
            server.median(),
        );
        report.figure(&format!("partitions/{name}/purge/server"), elapsed);
        report.figure(&format!("partitions/{name}/purge/WAL"), wal);
        shown.row(vec![
            name.to_owned(),
            whole(read.median()),
            whole(written.median()),
            time(server.median()),
            if twice { "**accepted**" } else { "refused" }.to_owned(),
            whole(purged),
            time(elapsed),
            whole(wal),
            million,
        ]);
        run_sql(session, format!("DROP TABLE {name}")).await?;
    }
    report.tables.push(shown);
    Ok(())
}

/// Fills the table with records that expire in the order of insertion, those of the first day in the
/// past.
async fn prepare(session: &mut PgConnection, name: &str, rows: usize) -> Result<(), Fault> {
    run_sql(session, "BEGIN".into()).await?;
    if name == PARTED {
        run_sql(
            session,
            format!(
                "CREATE TABLE {name} (LIKE idem_record INCLUDING CONSTRAINTS) PARTITION BY RANGE (expires_at); \
                 ALTER TABLE {name} ADD PRIMARY KEY (namespace, scope, key, expires_at); \
                 CREATE INDEX ON {name} (expires_at)"
            ),
        )
        .await?;
        for day in 0..DAYS {
            run_sql(
                session,
                format!(
                    "DO $$ BEGIN EXECUTE format('CREATE TABLE {name}_{day} PARTITION OF {name} \
                     FOR VALUES FROM (%L) TO (%L) WITH (autovacuum_enabled = off)', \
                     date_trunc('day', now()) + interval '{} days', date_trunc('day', now()) + interval '{} days'); END $$",
                    signed(day) - 1,
                    signed(day),
                ),
            )
            .await?;
        }
    } else {
        let keys = format!(
            "ALTER TABLE {name} ADD PRIMARY KEY (namespace, scope, key); CREATE INDEX ON {name} (expires_at)"
        );
        table(session, name, &keys).await?;
    }
    run_sql(
        session,
        format!(
            "INSERT INTO {name} (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, \
             namespace, scope, key, operation, fingerprint, result) \
             SELECT now(), date_trunc('day', now()) + ({DAYS} * (n - 1) / {rows}.0 - 1) * interval '1 day', \
             gen_random_uuid(), 1, 1, 1, 1, 'bench', '', {}, 'pay_one', sha256(n::text::bytea), '{{\"id\":1234567}}' \
             FROM generate_series(1, {rows}) AS n; COMMIT",
            super::super::growth::Order::InTime.key()
        ),
    )
    .await?;
    vacuum(session, name).await
}

/// Converts a small count for arithmetic below zero.
fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Tries to insert a second record of a key, which expires on another day.
async fn takes_a_key_twice(session: &mut PgConnection, name: &str) -> Result<bool, Fault> {
    let key = Uuid::now_v7().to_string();
    bound(&insert(name, false), &key, None)
        .execute(&mut *session)
        .await?;
    let later = insert(name, false).replace("'24 hours'", "'72 hours'");
    match bound(&later, &key, None).execute(session).await {
        Ok(_) => Ok(true),
        Err(sqlx::Error::Database(error)) if error.is_unique_violation() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes the first day's records. Returns how many they were.
async fn purge(session: &mut PgConnection, name: &str) -> Result<f64, Fault> {
    if name == PARTED {
        let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM partitioned_0")
            .fetch_one(&mut *session)
            .await?;
        run_sql(session, "DROP TABLE partitioned_0".into()).await?;
        return Ok(float(usize::try_from(rows)?));
    }
    let mut purged = 0;
    loop {
        let rows = expiry::batch(session, name).await?;
        purged += rows;
        if rows == 0 {
            return Ok(float(usize::try_from(purged)?));
        }
    }
}
