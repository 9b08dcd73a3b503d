//! Files attached to the connection, whose COMMIT may not be one with the record's.
//!
//! SQLite commits several files as one only if all of them keep a rollback journal beside them
//! (<https://sqlite.org/lang_attach.html>). For any other file the library checks, before COMMIT, whether this
//! transaction has written to it. Only C can ask that outright (`sqlite3_txn_state`). Here the file's write
//! lock shows it, which a transaction that has written keeps to its end:
//!
//! 1. Another connection gets the lock: nobody has it, and nothing was written.
//! 2. Neither the other connection nor this one gets it: a third one has it, and nothing was written.
//! 3. This connection gets it: it had the lock before. Or the other one has just released it: that shows if it
//!    has committed; if it has rolled back, a file that was only read is refused.
//!
//! A caller's `BEGIN IMMEDIATE` takes the write lock of every attached file. That cannot be told from a write,
//! and is refused.

use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _};

use super::{error, sql};
use crate::values::error::{Error, SchemaFault};

/// A file beside the main one.
pub(super) struct Attached {
    name: String,
    file: String,
    /// Whether it commits as one with the main file.
    is_one: bool,
}

/// Lists the attached files. A database in memory is none: its contents are lost with the process, like a
/// temporary table.
pub(super) async fn list(conn: &mut SqliteConnection) -> Result<Vec<Attached>, Error> {
    let rows = sqlx::query(sql::ATTACHED)
        .fetch_all(conn)
        .await
        .map_err(error::map_error)?;
    let mut main = false;
    let mut attached = Vec::new();
    for row in rows {
        let file: String = row.try_get("file").map_err(error::map_error)?;
        let journaled: bool = row.try_get("journaled").map_err(error::map_error)?;
        if row.try_get::<i64, _>("seq").map_err(error::map_error)? == 0 {
            main = journaled && !file.is_empty();
        } else if !file.is_empty() {
            attached.push(Attached {
                name: row.try_get("name").map_err(error::map_error)?,
                file,
                is_one: main && journaled,
            });
        }
    }
    Ok(attached)
}

/// Refuses a transaction that has written to a file whose COMMIT is not one with the record's.
pub(super) async fn check(conn: &mut SqliteConnection, files: Vec<Attached>) -> Result<(), Error> {
    for file in files {
        if !file.is_one && is_written(conn, &file).await? {
            return Err(SchemaFault::AttachedWrite {
                database: file.name,
            }
            .into());
        }
    }
    Ok(())
}

async fn is_written(conn: &mut SqliteConnection, file: &Attached) -> Result<bool, Error> {
    let options = SqliteConnectOptions::new()
        .filename(&file.file)
        .busy_timeout(Duration::ZERO);
    // If the other connection cannot open the file, perhaps because of its VFS, only this connection is asked.
    let mut other = options.connect().await.ok();
    if let Some(other) = &mut other
        && other.execute(sql::BEGIN_TO_WRITE).await.is_ok()
    {
        let _ = other.execute(sql::ROLLBACK).await;
        return Ok(false);
    }
    let before = commits(&mut other).await;
    let is_ours = takes_write_lock(conn, file).await?;
    let is_ours = is_ours && (before.is_none() || before == commits(&mut other).await);
    if let Some(other) = other {
        let _ = other.close().await;
    }
    Ok(is_ours)
}

/// Returns a number that changes with each COMMIT of another connection.
async fn commits(other: &mut Option<SqliteConnection>) -> Option<i64> {
    let version = sqlx::query_scalar(sql::COMMITS);
    version.fetch_one(other.as_mut()?).await.ok()
}

/// Returns whether this connection has the write lock now, by a write that changes nothing.
async fn takes_write_lock(conn: &mut SqliteConnection, file: &Attached) -> Result<bool, Error> {
    let version: i64 = sqlx::query_scalar(AssertSqlSafe(sql::user_version(&file.name)))
        .fetch_one(&mut *conn)
        .await
        .map_err(error::map_error)?;
    let wait: i64 = sqlx::query_scalar(sql::BUSY_TIMEOUT)
        .fetch_one(&mut *conn)
        .await
        .map_err(error::map_error)?;
    let write = sql::set_user_version_at_once(&file.name, version);
    let written = conn.execute(sqlx::raw_sql(AssertSqlSafe(write))).await;
    let restore = sql::set_busy_timeout(wait);
    conn.execute(sqlx::raw_sql(AssertSqlSafe(restore)))
        .await
        .map_err(error::map_error)?;
    match written {
        Ok(_) => Ok(true),
        Err(error) if error::is_busy(&error) || error::is_read_only(&error) => Ok(false),
        Err(error) => Err(error::map_error(error)),
    }
}
