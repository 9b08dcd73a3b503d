//! Is the table fit to arbitrate? Asked once a connection, before its first body.

use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::code::fold;
use super::statement::Statement;
use crate::error::{Error, SchemaFault};

/// What of the table is checked, in one row.
///
/// The arbiter is an index that is unique, valid, ready, immediate and non-partial on exactly
/// (namespace, scope, key), with deterministic collations: under any other, two different keys
/// could be equal, or two equal ones accepted.
const CHECK: &str = "\
    SELECT c.relpersistence::text AS persistence, c.relkind::text AS kind, \
      EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid \
        AND i.indisunique AND i.indisvalid AND i.indisready AND i.indimmediate \
        AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = 3 \
        AND (SELECT array_agg(a.attname::text ORDER BY a.attname) \
             FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, n) \
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum WHERE k.n <= 3) \
            = ARRAY['key', 'namespace', 'scope'] \
        AND NOT EXISTS (SELECT FROM unnest(i.indcollation::oid[]) AS o (oid) \
             JOIN pg_collation l ON l.oid = o.oid WHERE NOT l.collisdeterministic)) AS arbiter, \
      (SELECT w.name FROM unnest(ARRAY['namespace', 'scope', 'key', 'operation', 'request', 'result', 'failure', \
            'attempt_id', 'expires_at']) WITH ORDINALITY AS w (name, n) \
        LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = w.name AND NOT a.attisdropped \
        WHERE a.atttypid IS NULL OR a.atttypid NOT IN ('text'::regtype, 'varchar'::regtype, 'bytea'::regtype, \
            'uuid'::regtype, 'timestamptz'::regtype) \
          OR (w.n BETWEEN 5 AND 7 AND a.atttypid <> 'bytea'::regtype) \
        ORDER BY w.n LIMIT 1) AS misfit \
    FROM pg_class c WHERE c.oid = $1::oid";

/// `,1,2,`: the newest first, and no more than a few dozen.
const REMEMBER: &str = "\
    SELECT set_config('idem.verified', \
        left(',' || $1 || ',' || ltrim(coalesce(current_setting('idem.verified', true), ''), ','), 400), false)";

pub(super) async fn table(conn: &mut PgConnection, table: &str, place: i64) -> Result<(), Error> {
    let row = Statement::new(CHECK.to_owned(), false)
        .bind(place)
        .fetch_one(&mut *conn)
        .await
        .map_err(fold)?;
    let persistence: String = row.try_get("persistence").map_err(fold)?;
    let kind: String = row.try_get("kind").map_err(fold)?;
    let table = table.to_owned();
    let found = match (persistence.as_str(), kind.as_str()) {
        ("p", "r" | "p") => None,
        ("t", _) => Some("temporary"),
        ("u", _) => Some("unlogged"),
        _ => Some("not a table"),
    };
    if let Some(found) = found {
        return Err(SchemaFault::NotPermanent { table, found }.into());
    }
    if let Some(column) = row.try_get::<Option<String>, _>("misfit").map_err(fold)? {
        let fault = "is missing, or is not of the migration's type";
        return Err(SchemaFault::Column {
            table,
            column,
            fault,
        }
        .into());
    }
    if !row.try_get::<bool, _>("arbiter").map_err(fold)? {
        return Err(SchemaFault::NoArbiter { table }.into());
    }
    // For the session, so that the next unit of work on this connection need not ask again.
    Statement::new(REMEMBER.to_owned(), false)
        .bind(place.to_string())
        .execute(conn)
        .await
        .map_err(fold)?;
    Ok(())
}
