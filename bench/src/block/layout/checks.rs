//! Measures the CHECK constraints, which PostgreSQL parses again for each INSERT.

use std::time::Instant;

use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::{Bench, Variant, run_sql, table};
use crate::Fault;
use crate::numbers::float;
use crate::report::table::{ratio, time, whole};
use crate::report::{Report, Table};

/// Each choice, its table, and its change to the record's table.
const CHOICES: [(&str, &str, &str); 3] = [
    ("one, as the table has it", "checks_one", ""),
    ("seven, and lengths by CHECK", "checks_seven", SEVEN),
    (
        "none",
        "checks_none",
        ", DROP CONSTRAINT idem_record_status",
    ),
];

const SEVEN: &str = ", DROP CONSTRAINT idem_record_status, \
     ADD CHECK (attempt > 0), ADD CHECK (octet_length(fingerprint) = 32), \
     ADD CHECK (char_length(namespace) BETWEEN 1 AND 64), ADD CHECK (char_length(scope) <= 255), \
     ADD CHECK (char_length(key) BETWEEN 1 AND 255), ADD CHECK (char_length(operation) BETWEEN 1 AND 255), \
     ADD CHECK (CASE status \
        WHEN 1 THEN result IS NOT NULL AND failure IS NULL AND locked_until IS NULL \
        WHEN 2 THEN failure IS NOT NULL AND result IS NULL AND locked_until IS NULL \
        WHEN 3 THEN result IS NULL AND failure IS NULL AND locked_until IS NOT NULL AND expires_at = 'infinity' \
        WHEN 4 THEN result IS NULL AND failure IS NULL AND locked_until IS NOT NULL AND expires_at = 'infinity' \
        WHEN 5 THEN result IS NULL AND failure IS NULL AND locked_until IS NULL \
        ELSE false END)";

pub(super) async fn run(
    bench: &mut Bench<'_>,
    session: &mut PgConnection,
    report: &mut Report,
) -> Result<(), Fault> {
    let mut variants = CHOICES.map(|(name, table, _)| Variant::new(name, table));
    for (_, name, change) in CHOICES {
        let changes = format!(
            "ALTER TABLE {name} ADD PRIMARY KEY (namespace, scope, key){change}; CREATE INDEX ON {name} (expires_at)"
        );
        table(session, name, &changes).await?;
    }
    let calls = bench.options.scaled(2_000);
    for _ in 0..calls {
        let key = Uuid::now_v7().to_string();
        for index in bench.chance.order(CHOICES.len()) {
            insert(session, &mut variants[index], &key).await?;
        }
    }
    let caption = format!("CHECK constraints: {} inserts each", whole(float(calls)));
    let mut shown = Table::new(&caption, &["checks", "insert", "quartiles", "over none"]);
    let none = variants[2].insert.median();
    for variant in &variants {
        let found = variant.insert.median();
        report.sample(&format!("checks/{}/insert", variant.name), &variant.insert);
        shown.row(vec![
            variant.name.to_owned(),
            time(found),
            format!(
                "{} – {}",
                time(variant.insert.quantile(0.25)),
                time(variant.insert.quantile(0.75))
            ),
            if variant.name == "none" {
                "–".into()
            } else {
                ratio(found / none)
            },
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
    let begun = Instant::now();
    insert.execute(session).await?;
    variant.insert.push_time(begun.elapsed());
    Ok(())
}
