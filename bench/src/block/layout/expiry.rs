//! Measures the index by which a purge finds expired records: btree, BRIN, or none.

use std::time::Instant;

use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::{Bench, Variant, position, run_sql, size, table};
use crate::Fault;
use crate::numbers::{Sample, float};
use crate::report::table::{time, whole};
use crate::report::{Report, Table};

/// Each choice, its table, and the index.
const CHOICES: [(&str, &str, &str); 3] = [
    (
        "btree",
        "expiry_btree",
        "CREATE INDEX expiry_btree_at ON expiry_btree (expires_at)",
    ),
    (
        "BRIN",
        "expiry_brin",
        "CREATE INDEX expiry_brin_at ON expiry_brin USING brin (expires_at) WITH (autosummarize = on)",
    ),
    ("none", "expiry_none", "SELECT 1"),
];

pub(super) async fn run(
    bench: &mut Bench<'_>,
    session: &mut PgConnection,
    rows: usize,
    report: &mut Report,
) -> Result<(), Fault> {
    let mut variants = CHOICES.map(|(name, table, _)| Variant::new(name, table));
    let mut batches: [Sample; 3] = Default::default();
    for (_, name, index) in CHOICES {
        let key = format!("ALTER TABLE {name} ADD PRIMARY KEY (namespace, scope, key); {index}");
        table(session, name, &key).await?;
        // Half of the rows are expired. They have two retentions, so the order of expiry differs
        // from the order of insertion.
        run_sql(
            session,
            format!(
                "INSERT INTO {name} (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, \
                 namespace, scope, key, operation, fingerprint, result) \
                 SELECT now() - interval '2 days' * (1 - n / {rows}.0), \
                 now() - interval '2 days' * (1 - n / {rows}.0) + interval '1 hour' * (CASE n % 2 WHEN 0 THEN 16 ELSE 32 END), \
                 gen_random_uuid(), 1, 1, 1, 1, 'bench', '', '0186a5e0-' || to_char(n, 'FM0000-0000') || '-7d1e-8f12', \
                 'pay_one', sha256(n::text::bytea), '{{\"id\":1234567}}' FROM generate_series(1, {rows}) AS n"
            ),
        )
        .await?;
    }
    for (_, name, _) in CHOICES {
        run_sql(session, format!("VACUUM ANALYZE {name}")).await?;
    }
    let calls = bench.options.scaled(1_500);
    for _ in 0..calls {
        let key = Uuid::now_v7().to_string();
        for index in bench.chance.order(CHOICES.len()) {
            insert(session, &mut variants[index], &key).await?;
        }
    }
    for _ in 0..bench.options.scaled(20) {
        for index in bench.chance.order(CHOICES.len()) {
            let begun = Instant::now();
            batch(session, CHOICES[index].1).await?;
            batches[index].push_time(begun.elapsed());
        }
    }
    let mut shown = Table::new(
        &format!(
            "Index on `expires_at`: tables of {} rows, half of them expired; {} inserts, and batches of 1,000 purged",
            whole(float(rows)),
            whole(float(calls))
        ),
        &[
            "index",
            "insert",
            "WAL, mean",
            "index, bytes a row",
            "a batch of a purge",
        ],
    );
    for (variant, batches) in variants.iter().zip(&batches) {
        let bytes = if variant.name == "none" {
            0.0
        } else {
            size(session, &format!("{}_at", variant.table)).await? / float(rows + calls)
        };
        report.sample(&format!("expiry/{}/insert", variant.name), &variant.insert);
        report.figure(&format!("expiry/{}/WAL", variant.name), variant.wal.mean());
        report.figure(&format!("expiry/{}/index", variant.name), bytes);
        report.sample(&format!("expiry/{}/batch", variant.name), batches);
        shown.row(vec![
            variant.name.to_owned(),
            time(variant.insert.median()),
            whole(variant.wal.mean()),
            format!("{bytes:.1}"),
            time(batches.median()),
        ]);
        run_sql(session, format!("DROP TABLE {}", variant.table)).await?;
    }
    report.tables.push(shown);
    Ok(())
}

async fn insert(session: &mut PgConnection, variant: &mut Variant, key: &str) -> Result<(), Fault> {
    let insert = format!(
        "INSERT INTO {} (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, namespace, \
         scope, key, operation, result) SELECT clock_timestamp(), clock_timestamp() + interval '24 hours', \
         gen_random_uuid(), 1, 1, 1, 1, 'bench', '', $1, 'pay_one', '{{\"id\":1234567}}'",
        variant.table
    );
    let insert = sqlx::query(AssertSqlSafe(insert)).bind(key);
    let before = position(session).await?;
    let begun = Instant::now();
    insert.execute(&mut *session).await?;
    variant.insert.push_time(begun.elapsed());
    variant.wal.push(position(session).await? - before);
    Ok(())
}

/// Runs one batch of the purge. Returns how many rows it deleted.
pub(super) async fn batch(session: &mut PgConnection, table: &str) -> Result<u64, Fault> {
    let purged = sqlx::query(AssertSqlSafe(format!(
        "WITH spent AS MATERIALIZED (SELECT namespace, scope, key FROM {table} \
             WHERE status IN (1, 2, 5) AND expires_at <= (SELECT clock_timestamp()) \
             ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED) \
             DELETE FROM {table} AS r USING spent \
             WHERE r.namespace = spent.namespace AND r.scope = spent.scope AND r.key = spent.key"
    )));
    Ok(purged.execute(session).await?.rows_affected())
}
