//! Fills the record's table by SQL.

use sqlx::{AssertSqlSafe, PgConnection};

use super::super::stats;
use crate::Fault;
use crate::server::Database;

/// How the keys of the records and of the calls are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Order {
    /// `UUIDv7`.
    InTime,
    /// `UUIDv4`.
    Random,
}

impl Order {
    pub(in super::super) const BOTH: [Self; 2] = [Self::InTime, Self::Random];

    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Self::InTime => "keys in time's order",
            Self::Random => "random keys",
        }
    }

    /// Returns an expression for the key of record number `n`, older than any key of a call.
    pub(in super::super) fn key(self) -> &'static str {
        match self {
            Self::InTime => {
                "regexp_replace(lpad(to_hex(1600000000000 + n), 12, '0') || '7' || substr(md5(n::text), 1, 3) || \
                 '8' || substr(md5(n::text), 4, 15), '(.{8})(.{4})(.{4})(.{4})(.{12})', '\\1-\\2-\\3-\\4-\\5')"
            }
            Self::Random => "gen_random_uuid()::text",
        }
    }
}

/// Fills an empty table with live records. The table is made anew in the same transaction, so that
/// with `wal_level = minimal` nothing of it is logged. Its indexes grow record by record, as they do in
/// use.
pub(super) async fn records(
    database: &Database,
    order: Order,
    records: usize,
    observer: &mut PgConnection,
) -> Result<(), Fault> {
    let mut session = database.connect().await?;
    let fill = format!(
        "BEGIN; TRUNCATE idem_record; \
         INSERT INTO idem_record (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, codec, \
         namespace, scope, key, operation, fingerprint, result) \
         SELECT now() - interval '12 hours' + n * interval '1 microsecond', \
         now() + interval '12 hours' + n * interval '1 microsecond', gen_random_uuid(), 1, 1, 1, 1, 'bench', '', {}, \
         'pay_one', sha256(n::text::bytea), '{{\"id\":1234567}}' FROM generate_series(1, {records}) AS n; COMMIT",
        order.key()
    );
    for statement in [&*fill, "VACUUM (ANALYZE) idem_record"] {
        sqlx::raw_sql(AssertSqlSafe(statement.to_owned()))
            .execute(&mut session)
            .await?;
    }
    stats::end(session, observer).await
}
