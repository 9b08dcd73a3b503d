//! Measures alternative layouts of the table, in plain SQL.

mod checks;
mod counted;
mod expiry;
mod key;
mod partitions;
mod payload;

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

use super::Bench;
use crate::Fault;
use crate::numbers::Sample;
use crate::processor::Processor;
use crate::report::Report;
use crate::server::Database;

/// Rows in each table before the measurement, unless the options say how many.
const ROWS: usize = 200_000;

/// A table that differs from the record's in one property.
struct Variant {
    name: &'static str,
    table: &'static str,
    insert: Sample,
    read: Sample,
    wal: Sample,
}

impl Variant {
    fn new(name: &'static str, table: &'static str) -> Self {
        Self {
            name,
            table,
            insert: Sample::default(),
            read: Sample::default(),
            wal: Sample::default(),
        }
    }
}

pub(super) async fn run(mut bench: Bench<'_>) -> Result<Report, Fault> {
    let database = bench.server.database("layout").await?;
    let mut report = Report::of("layout");
    let rows = if bench.options.quick { 2_000 } else { ROWS };
    let mut session = session(&database).await?;
    let processor = Processor::of(&database).await?;
    key::run(&mut bench, &mut session, &processor, &mut report).await?;
    partitions::run(&mut bench, &mut session, &processor, &mut report).await?;
    payload::run(&mut bench, &mut session, rows, &mut report).await?;
    expiry::run(&mut bench, &mut session, rows, &mut report).await?;
    checks::run(&mut bench, &mut session, &mut report).await?;
    session.close().await?;
    Ok(report)
}

/// Opens a session that does not wait for the disk: the compared work would be hidden by it.
async fn session(database: &Database) -> Result<PgConnection, Fault> {
    let mut session = database.connect().await?;
    session.execute("SET synchronous_commit = off").await?;
    Ok(session)
}

async fn run_sql(session: &mut PgConnection, sql: String) -> Result<(), Fault> {
    session.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    Ok(())
}

/// Creates a table with the record's columns and checks, without its indexes.
async fn table(session: &mut PgConnection, name: &str, changes: &str) -> Result<(), Fault> {
    run_sql(
        session,
        format!(
            "CREATE TABLE {name} (LIKE idem_record INCLUDING CONSTRAINTS) WITH (autovacuum_enabled = off); {changes}"
        ),
    )
    .await
}

async fn position(session: &mut PgConnection) -> Result<f64, Fault> {
    let position = sqlx::query_scalar("SELECT (pg_current_wal_insert_lsn() - '0/0')::float8");
    Ok(position.fetch_one(session).await?)
}

/// Returns the bytes of a table or an index.
async fn size(session: &mut PgConnection, relation: &str) -> Result<f64, Fault> {
    let size = sqlx::query_scalar("SELECT pg_relation_size($1::regclass)::float8");
    Ok(size.bind(relation).fetch_one(session).await?)
}
