//! Measures the type of the payload: bytes, text or jsonb.

use std::fmt::Write as _;
use std::time::Instant;

use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::{Bench, Variant, position, run_sql, size, table};
use crate::Fault;
use crate::numbers::float;
use crate::report::table::{time, whole};
use crate::report::{Report, Table};

/// Each type, and the expressions that write and read a result of JSON text.
const TYPES: [(&str, &str, &str, &str); 3] = [
    ("bytea", "payload_bytea", "$2::bytea", "result"),
    (
        "text",
        "payload_text",
        "convert_from($2::bytea, 'UTF8')",
        "convert_to(result, 'UTF8')",
    ),
    (
        "jsonb",
        "payload_jsonb",
        "convert_from($2::bytea, 'UTF8')::jsonb",
        "convert_to(result::text, 'UTF8')",
    ),
];

/// Returns a result of about one kilobyte.
fn payload(number: usize) -> Vec<u8> {
    let mut text = format!("{{\"id\":{number},\"lines\":[");
    for line in 0..12 {
        // Cannot fail: writing to a `String` always succeeds.
        let _ = write!(
            text,
            "{}{{\"sku\":\"sku-{:06}\",\"quantity\":{},\"cents\":{},\"state\":\"accepted\"}}",
            if line == 0 { "" } else { "," },
            (number * 31 + line * 7) % 1_000_000,
            line + 1,
            (number * 17 + line) % 100_000,
        );
    }
    text.push_str("]}");
    text.into_bytes()
}

pub(super) async fn run(
    bench: &mut Bench<'_>,
    session: &mut PgConnection,
    rows: usize,
    report: &mut Report,
) -> Result<(), Fault> {
    let mut variants = TYPES.map(|(name, table, ..)| Variant::new(name, table));
    for (kind, table_name, ..) in TYPES {
        let changes = format!(
            "ALTER TABLE {table_name} DROP COLUMN result, ADD COLUMN result {kind}, ADD PRIMARY KEY (namespace, scope, key)"
        );
        table(session, table_name, &changes).await?;
    }
    let calls = (rows / 100).min(bench.options.scaled(2_000)).max(20);
    for number in 0..calls {
        let key = Uuid::now_v7().to_string();
        for index in bench.chance.order(TYPES.len()) {
            one(session, &mut variants[index], index, &key, &payload(number)).await?;
        }
    }
    let mut shown = Table::new(
        &format!(
            "Payload: {} results of {} bytes of JSON each",
            whole(float(calls)),
            payload(0).len()
        ),
        &["type", "insert", "read", "WAL, mean", "table, bytes a row"],
    );
    for variant in &variants {
        let heap = size(session, variant.table).await? / float(calls);
        report.sample(&format!("payload/{}/insert", variant.name), &variant.insert);
        report.sample(&format!("payload/{}/read", variant.name), &variant.read);
        report.figure(&format!("payload/{}/WAL", variant.name), variant.wal.mean());
        report.figure(&format!("payload/{}/bytes", variant.name), heap);
        shown.row(vec![
            variant.name.to_owned(),
            time(variant.insert.median()),
            time(variant.read.median()),
            whole(variant.wal.mean()),
            whole(heap),
        ]);
        run_sql(session, format!("DROP TABLE {}", variant.table)).await?;
    }
    report.tables.push(shown);
    Ok(())
}

async fn one(
    session: &mut PgConnection,
    variant: &mut Variant,
    index: usize,
    key: &str,
    payload: &[u8],
) -> Result<(), Fault> {
    let (_, name, write, read) = TYPES[index];
    let insert = format!(
        "INSERT INTO {name} (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, namespace, \
         scope, key, operation, result) SELECT clock_timestamp(), clock_timestamp() + interval '24 hours', \
         gen_random_uuid(), 1, 1, 1, 1, 'bench', '', $1, 'pay_one', {write}"
    );
    let insert = sqlx::query(AssertSqlSafe(insert)).bind(key).bind(payload);
    let before = position(session).await?;
    let begun = Instant::now();
    insert.execute(&mut *session).await?;
    variant.insert.push_time(begun.elapsed());
    variant.wal.push(position(session).await? - before);
    let read =
        format!("SELECT {read} FROM {name} WHERE namespace = 'bench' AND scope = '' AND key = $1");
    let begun = Instant::now();
    sqlx::query_scalar::<_, Vec<u8>>(AssertSqlSafe(read))
        .bind(key)
        .fetch_one(session)
        .await?;
    variant.read.push_time(begun.elapsed());
    Ok(())
}
