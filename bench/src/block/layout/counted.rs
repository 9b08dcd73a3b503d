//! The statements whose pages are counted, and what the server says of them.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sqlx::postgres::{PgArguments, Postgres};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::run_sql;
use crate::Fault;
use crate::numbers::float;

/// Returns the INSERT of a record: `$1` is the key, and `$2` its digest if there is one.
pub(super) fn insert(table: &str, has_digest: bool) -> String {
    let (column, value) = if has_digest {
        (", digest", ", $2")
    } else {
        ("", "")
    };
    format!(
        "INSERT INTO {table} (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, \
         namespace, scope, operation, fingerprint, result, key{column}) \
         SELECT clock.now, clock.now + interval '24 hours', gen_random_uuid(), 1, 1, 1, 1, 'bench', '', 'pay_one', \
         sha256($1::text::bytea), '{{\"id\":1234567}}', $1{value} FROM (SELECT clock_timestamp() AS now OFFSET 0) AS clock"
    )
}

/// Returns the look-up of a record. With a digest it compares the three texts as well: two requests
/// may have one digest, if not by chance.
pub(super) fn look_up(table: &str, has_digest: bool) -> String {
    let digest = if has_digest { "digest = $2 AND " } else { "" };
    format!(
        "SELECT result FROM {table} WHERE {digest}namespace = 'bench' AND scope = '' AND key = $1"
    )
}

/// Binds the key, and its digest of so many bytes.
pub(super) fn bound(
    statement: &str,
    key: &str,
    digest: Option<usize>,
) -> Query<'static, Postgres, PgArguments> {
    let query = sqlx::query(AssertSqlSafe(statement.to_owned())).bind(key.to_owned());
    match digest {
        None => query,
        Some(bytes) => query.bind(Sha256::digest(format!("bench//{key}"))[..bytes].to_vec()),
    }
}

/// Executes a statement, and returns how many pages of tables and indexes it asked for, whether they
/// were in memory or not.
pub(super) async fn explained(
    session: &mut PgConnection,
    statement: &str,
    key: &str,
    digest: Option<usize>,
) -> Result<f64, Fault> {
    let statement = format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement}");
    // PostgreSQL keeps no plan of an EXPLAIN: what the planner reads is counted apart.
    let row = bound(&statement, key, digest).fetch_one(session).await?;
    let plan: Value = serde_json::from_str(row.try_get_unchecked::<&str, _>(0)?)?;
    let pages = |name: &str| plan[0]["Plan"][name].as_u64();
    let (hit, read) = pages("Shared Hit Blocks")
        .zip(pages("Shared Read Blocks"))
        .ok_or("a plan without buffers")?;
    Ok(float(usize::try_from(hit + read)?))
}

/// Returns whether this server can compress its WAL by lz4.
pub(super) async fn knows_lz4(session: &mut PgConnection) -> Result<bool, Fault> {
    let known = sqlx::query_scalar(
        "SELECT coalesce('lz4' = ANY (enumvals), false) FROM pg_settings WHERE name = 'wal_compression'",
    );
    Ok(known.fetch_one(session).await?)
}

/// Reads all pages once, so that no variant pays for the first read.
pub(super) async fn vacuum(session: &mut PgConnection, table: &str) -> Result<(), Fault> {
    run_sql(session, format!("VACUUM (ANALYZE) {table}")).await?;
    run_sql(
        session,
        format!("SELECT count(*), max(status) FROM {table}"),
    )
    .await
}
