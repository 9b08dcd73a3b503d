//! Measures the primary key: the three texts, or a hash of them.

use std::time::Instant;

use sha2::{Digest as _, Sha256};
use sqlx::AssertSqlSafe;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Bench, Variant, position, run_sql, size, table};
use crate::Fault;
use crate::numbers::float;
use crate::report::table::{time, whole};
use crate::report::{Report, Table};

/// The order of the keys, and the stored form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    TextInOrder,
    TextAtRandom,
    Hash,
}

const KINDS: [Kind; 3] = [Kind::TextInOrder, Kind::TextAtRandom, Kind::Hash];

const FIXED: &str = "created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, operation, \
                     fingerprint, result";

pub(super) async fn run(
    bench: &mut Bench<'_>,
    session: &mut PgConnection,
    rows: usize,
    report: &mut Report,
) -> Result<(), Fault> {
    let mut variants = [
        Variant::new("text, keys in the order of time", "key_text"),
        Variant::new("text, random keys", "key_random"),
        Variant::new("SHA-256 of the three", "key_hash"),
    ];
    for (variant, kind) in variants.iter().zip(KINDS) {
        prepare(session, variant.table, kind, rows).await?;
    }
    let calls = bench.options.scaled(2_000);
    warm(session, &variants).await?;
    // After a checkpoint, the first change of each page writes the whole page to the WAL. This is
    // the cost of an index with random inserts.
    run_sql(session, "CHECKPOINT".into()).await?;
    for _ in 0..calls {
        for index in bench.chance.order(KINDS.len()) {
            let key = if KINDS[index] == Kind::TextAtRandom {
                Uuid::new_v4()
            } else {
                Uuid::now_v7()
            };
            one(
                session,
                &mut variants[index],
                KINDS[index],
                &key.to_string(),
            )
            .await?;
        }
    }
    let mut shown = Table::new(
        &format!(
            "Primary key: {} inserts each after a checkpoint, into tables of {} rows",
            whole(float(calls)),
            whole(float(rows))
        ),
        &[
            "key",
            "WAL, mean",
            "WAL, median",
            "insert",
            "look-up",
            "index, bytes a row",
            "table, bytes a row",
        ],
    );
    for variant in &variants {
        let all = float(rows + calls);
        let index = size(session, &format!("{}_pkey", variant.table)).await? / all;
        let heap = size(session, variant.table).await? / all;
        report.figure(&format!("key/{}/WAL", variant.name), variant.wal.mean());
        report.sample(&format!("key/{}/insert", variant.name), &variant.insert);
        report.sample(&format!("key/{}/look-up", variant.name), &variant.read);
        report.figure(&format!("key/{}/index", variant.name), index);
        shown.row(vec![
            variant.name.to_owned(),
            whole(variant.wal.mean()),
            whole(variant.wal.median()),
            time(variant.insert.median()),
            time(variant.read.median()),
            whole(index),
            whole(heap),
        ]);
        run_sql(session, format!("DROP TABLE {}", variant.table)).await?;
    }
    report.tables.push(shown);
    Ok(())
}

async fn prepare(
    session: &mut PgConnection,
    name: &str,
    kind: Kind,
    rows: usize,
) -> Result<(), Fault> {
    let (changes, columns, values) = match kind {
        Kind::Hash => (
            format!(
                "ALTER TABLE {name} DROP COLUMN namespace, DROP COLUMN scope, DROP COLUMN key, \
                 ADD COLUMN key_hash bytea NOT NULL, ADD PRIMARY KEY (key_hash)"
            ),
            "key_hash",
            "sha256(('bench//' || n)::bytea)",
        ),
        Kind::TextInOrder => (
            format!("ALTER TABLE {name} ADD PRIMARY KEY (namespace, scope, key)"),
            "namespace, scope, key",
            "'bench', '', '0186a5e0-' || to_char(n, 'FM0000-0000') || '-7d1e-8f12-9a3b5c7d9e1f'",
        ),
        Kind::TextAtRandom => (
            format!("ALTER TABLE {name} ADD PRIMARY KEY (namespace, scope, key)"),
            "namespace, scope, key",
            "'bench', '', gen_random_uuid()::text",
        ),
    };
    table(session, name, &changes).await?;
    run_sql(
        session,
        format!(
            "INSERT INTO {name} ({FIXED}, {columns}) SELECT now(), now() + interval '24 hours', gen_random_uuid(), 1, 1, \
             1, 1, 'pay_one', sha256(n::text::bytea), '{{\"id\":1234567}}', {values} FROM generate_series(1, {rows}) AS n; \
             ANALYZE {name}"
        ),
    )
    .await
}

/// Reads all pages once, so that no variant pays for the first read.
async fn warm(session: &mut PgConnection, variants: &[Variant]) -> Result<(), Fault> {
    for variant in variants {
        run_sql(
            session,
            format!("SELECT count(*), max(status) FROM {}", variant.table),
        )
        .await?;
    }
    Ok(())
}

async fn one(
    session: &mut PgConnection,
    variant: &mut Variant,
    kind: Kind,
    key: &str,
) -> Result<(), Fault> {
    let hash = Sha256::digest(format!("bench//{key}"));
    let name = variant.table;
    let (columns, places, wanted) = match kind {
        Kind::Hash => ("key_hash", "$3", "key_hash = $1"),
        _ => (
            "namespace, scope, key",
            "'bench', '', $3",
            "namespace = 'bench' AND scope = '' AND key = $1",
        ),
    };
    let insert = format!(
        "INSERT INTO {name} ({FIXED}, {columns}) SELECT clock_timestamp(), clock_timestamp() + interval '24 hours', \
         $1, 1, 1, 1, 1, 'pay_one', $2, '{{\"id\":1234567}}', {places}"
    );
    let insert = sqlx::query(AssertSqlSafe(insert))
        .bind(Uuid::new_v4())
        .bind(&hash[..]);
    let insert = if kind == Kind::Hash {
        insert.bind(&hash[..])
    } else {
        insert.bind(key)
    };
    let before = position(session).await?;
    let begun = Instant::now();
    insert.execute(&mut *session).await?;
    variant.insert.push_time(begun.elapsed());
    variant.wal.push(position(session).await? - before);

    let read = format!("SELECT result FROM {name} WHERE {wanted}");
    let read = sqlx::query_scalar::<_, Vec<u8>>(AssertSqlSafe(read));
    let read = if kind == Kind::Hash {
        read.bind(&hash[..])
    } else {
        read.bind(key)
    };
    let begun = Instant::now();
    read.fetch_one(session).await?;
    variant.read.push_time(begun.elapsed());
    Ok(())
}
