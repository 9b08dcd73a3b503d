//! Deletes purgeable records in batches that are in no other transaction's way.

use sqlx::mysql::MySqlConnection;
use sqlx::{Connection as _, Executor as _, Row as _};

use super::super::hold::no_lock;
use super::super::row;
use super::super::session::Purgeable;
use super::{error, hold, last, message, rows, sql};
use crate::values::error::Error;
use crate::values::record::Timestamp;

/// The server's time, and whether there is a table of holds.
type Moment = (Timestamp, bool);

/// Deletes one batch; skips locked rows, and does not touch leases.
pub(super) async fn batch(
    conn: &mut MySqlConnection,
    table: &str,
    purgeable: Purgeable,
    limit: u32,
) -> Result<u64, Error> {
    let shown = rows(conn, sql::purge::moment(table)).await;
    let shown = shown.map_err(error::map_error)?;
    let has_holds = match shown.first() {
        Some(row) => hold::are_told_of(row)?,
        None => false,
    };
    let moment = (row::timestamp(&last(shown)?, "now")?, has_holds);
    let text = sql::purge::purge(table, purgeable, limit, moment);
    if !conn.is_in_transaction() {
        let alone = if has_holds {
            sql::purge::purge_behind_holds(&text)
        } else {
            sql::alone(&text)
        };
        match run(conn, table, alone, moment).await {
            Err(Error::AlreadyInTransaction) => {}
            Err(error) => {
                // A lost connection reports itself again at its next use.
                let _ = conn.execute(sql::END).await;
                return Err(error);
            }
            done => return done,
        }
    }
    run(conn, table, text, moment).await
}

/// Deletes one batch in its own transaction, if no other session of this server has the lead.
///
/// A named lock outlives a transaction, but not its session: a purge that is given up closes its connection. On
/// a cluster each node has a leader; they skip each other's rows or, at worst, one of two batches is rolled
/// back.
pub(super) async fn leading(
    conn: &mut MySqlConnection,
    table: &str,
    purgeable: Purgeable,
    limit: u32,
) -> Result<Option<u64>, Error> {
    let lead = rows(conn, sql::purge::lead(table))
        .await
        .map_err(error::map_error)?;
    let (leads, has_holds) = match lead.first() {
        Some(row) => (
            row.try_get::<Option<i64>, _>("lead")
                .map_err(error::map_error)?
                .unwrap_or(0),
            hold::are_told_of(row)?,
        ),
        None => (0, false),
    };
    if leads != 1 {
        return Ok(None);
    }
    let moment = (row::timestamp(&last(lead)?, "now")?, has_holds);
    let statements = sql::purge::purge_alone(table, purgeable, limit, moment);
    let deleted = match run(conn, table, statements, moment).await {
        Ok(deleted) => Ok(Some(deleted)),
        // Another node's batch was first.
        Err(Error::TransactionLost(_)) => Ok(None),
        Err(error) => Err(error),
    };
    // After a failure too: the session is closed then, and keeps the lead until its server has noticed.
    let given_up = rows(conn, sql::purge::give_up_lead(table)).await;
    let deleted = deleted?;
    given_up.map_err(error::map_error)?;
    Ok(deleted)
}

async fn run(
    conn: &mut MySqlConnection,
    table: &str,
    text: String,
    (_, has_holds): Moment,
) -> Result<u64, Error> {
    let (lock, deleted) = message::write(conn, text)
        .await
        .map_err(|error| error::table_error(error, table))?;
    // Then nothing was deleted.
    if has_holds && lock.is_empty() {
        return Err(no_lock());
    }
    Ok(deleted)
}
