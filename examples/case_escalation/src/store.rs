//! The database: the service's tables and the library's.

use std::error::Error;
use std::path::Path;

use idem_runtime::schema;
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};

/// The service's tables. A real service has migrations, and the library's table is one of them.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS case_file (
        id TEXT PRIMARY KEY, version INTEGER NOT NULL, state TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS escalation (
        number INTEGER PRIMARY KEY, case_id TEXT NOT NULL, case_version INTEGER NOT NULL, reason TEXT NOT NULL,
        UNIQUE (case_id, case_version)
    ) STRICT;
    CREATE TABLE IF NOT EXISTS audit_fact (
        id INTEGER PRIMARY KEY, escalation INTEGER NOT NULL UNIQUE REFERENCES escalation, officer TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS outbox (
        id INTEGER PRIMARY KEY, escalation INTEGER NOT NULL UNIQUE REFERENCES escalation, message TEXT NOT NULL
    ) STRICT;
    INSERT INTO case_file (id, version, state)
         VALUES ('481', 17, 'open'), ('482', 3, 'closed')
    ON CONFLICT DO NOTHING;";

/// Opens the database in `file` and creates the tables that it lacks.
///
/// # Errors
/// The database's.
pub async fn open(file: &Path) -> Result<SqlitePool, Box<dyn Error>> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        // With a write-ahead log, replays do not wait for the one writer.
        .journal_mode(SqliteJournalMode::Wal);
    let pool = SqlitePool::connect_with(options).await?;
    let mut conn = pool.acquire().await?;
    schema::create_if_missing(&mut *conn).await?;
    sqlx::raw_sql(TABLES).execute(&mut *conn).await?;
    drop(conn);
    Ok(pool)
}

/// Returns all that is stored, as JSON: a list of rows for each table.
pub(crate) async fn tables(pool: &SqlitePool) -> sqlx::Result<String> {
    sqlx::query_scalar(
        "SELECT json_object(
            'case_file', (SELECT json_group_array(json_object('id', id, 'version', version, 'state', state))
                            FROM case_file),
            'escalation', (SELECT json_group_array(json_object('number', number, 'case', case_id,
                                  'version', case_version, 'reason', reason)) FROM escalation),
            'audit_fact', (SELECT json_group_array(json_object('escalation', escalation, 'officer', officer))
                             FROM audit_fact),
            'outbox', (SELECT json_group_array(json_object('escalation', escalation, 'message', json(message)))
                         FROM outbox),
            'idem_record', (SELECT json_group_array(json_object('key', key, 'operation', operation,
                                   'status', status, 'attempt', attempt, 'expires_at', expires_at))
                              FROM idem_record_readable))",
    )
    .fetch_one(pool)
    .await
}
