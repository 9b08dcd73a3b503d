//! One batch of a purge that hands over what it deletes.
//!
//! In one transaction: the legal holds are locked; the records are found and locked, those that others have locked are left
//! out; they are handed over; they are deleted by their keys. If anything fails, all of it is rolled back.

use std::pin::Pin;

use super::record::{self, PurgedRecord, sha256};
use super::settings::{Archive, archive_table_of};
use crate::stores::Purgeable;
use crate::stores::hold::hold_table_of;
use crate::stores::leased::certain;
use crate::stores::operate::{Cells, Dialect, OperateBackend, OperateSession, clock};
use crate::values::error::Error;
use crate::values::record::Timestamp;

/// The most records that one statement copies or deletes.
const AT_ONCE: usize = 200;

/// A savepoint around the program's own function: it is gone if that has ended the transaction.
const SAVEPOINT: &str = "idem_archive";

/// A future behind a pointer, as a function that is kept returns it.
pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A program's own function that takes over a batch.
pub(crate) type PurgeFunction<C> = dyn for<'a> Fn(
        &'a mut C,
        &'a [PurgedRecord],
    ) -> Boxed<'a, Result<(), Box<dyn std::error::Error + Send + Sync>>>
    + Send
    + Sync;

/// Where the records go.
pub(crate) enum Destination<C> {
    /// To `idem_archive`.
    Table(Archive),
    /// To the program's own function, with their payloads or without.
    Function {
        function: Box<PurgeFunction<C>>,
        payloads: bool,
    },
}

/// Which records a batch takes.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    pub(crate) table: &'a str,
    pub(crate) purgeable: Purgeable,
    pub(crate) limit: u32,
}

/// Runs one batch in its own transaction, if no other node has the lead. A worker keeps it, and needs no bound of its own
/// for it.
pub(crate) type Archiver<C> =
    dyn for<'a> Fn(&'a mut C, Batch<'a>) -> Boxed<'a, Result<Option<u64>, Error>> + Send + Sync;

/// Returns the function that a worker keeps.
pub(crate) fn boxed<DB: OperateBackend>(
    destination: Destination<DB::Connection>,
) -> Box<Archiver<DB::Connection>> {
    let destination = std::sync::Arc::new(destination);
    Box::new(move |conn, batch| {
        let destination = destination.clone();
        Box::pin(async move { leading::<DB>(conn, batch, &destination).await })
    })
}

async fn leading<DB: OperateBackend>(
    conn: &mut DB::Connection,
    batch: Batch<'_>,
    destination: &Destination<DB::Connection>,
) -> Result<Option<u64>, Error> {
    let mut tx = match conn.open_to_purge().await {
        Ok(tx) => tx,
        // On SQLite the write lock is the lead.
        Err(Error::Busy(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let done = async {
        if !tx.lead(batch.table).await? {
            return Ok(None);
        }
        let deleted = archive_and_delete(&mut *tx, batch, destination).await?;
        Ok(Some(deleted))
    };
    let done = match done.await {
        Ok(deleted) => DB::commit(tx).await.map_err(certain).map(|()| deleted),
        Err(error) => {
            // If the ROLLBACK fails, the end of the session rolls back.
            let _ = DB::roll_back(tx).await;
            Err(error)
        }
    };
    if matches!(done, Ok(None)) {
        return done;
    }
    // After a failure too: the session is closed then, and keeps the lead until its server has noticed.
    let given_up = conn.give_up_lead(batch.table).await;
    let deleted = done?;
    given_up.map(|()| deleted)
}

/// Hands over one batch and deletes it, in the transaction that is open. Returns the number of records.
pub(crate) async fn archive_and_delete<S: OperateSession + 'static>(
    conn: &mut S,
    batch: Batch<'_>,
    destination: &Destination<S>,
) -> Result<u64, Error> {
    let has_holds = conn.lock_holds(batch.table).await?;
    let now = clock(conn, batch.table).await?;
    let keys = find(conn, batch, has_holds, now).await?;
    if keys.is_empty() {
        return Ok(0);
    }
    match destination {
        Destination::Table(archive) => copy(conn, batch, archive, &keys, now).await?,
        Destination::Function { function, payloads } => {
            hand_over(conn, batch, function, *payloads, &keys).await?;
        }
    }
    let dialect = S::DIALECT;
    let table = dialect.table(batch.table);
    for some in keys.chunks(AT_ONCE) {
        let statement = format!("DELETE FROM {table} WHERE {}", any(&dialect, some));
        let deleted = conn.change(statement, batch.table).await?;
        whole(deleted, some.len())?;
    }
    Ok(number(keys.len()))
}

/// Finds and locks the records.
async fn find<S: OperateSession>(
    conn: &mut S,
    batch: Batch<'_>,
    has_holds: bool,
    now: Timestamp,
) -> Result<Vec<Cells>, Error> {
    let dialect = S::DIALECT;
    let (statuses, column, ago) = crate::stores::purgeable(batch.purgeable);
    let before = Timestamp::from_micros(now.as_micros().saturating_sub(ago));
    let is_free = if has_holds {
        let holds = dialect.table(&hold_table_of(batch.table));
        format!(" AND scope NOT IN (SELECT scope FROM {holds})")
    } else {
        String::new()
    };
    let statement = format!(
        "SELECT {}, {}, {} FROM {} WHERE status IN ({statuses}) AND {column} <= {}{is_free} ORDER BY {column} LIMIT {} {}",
        dialect.text_cell("namespace"),
        dialect.text_cell("scope"),
        dialect.text_cell(dialect.key),
        dialect.table(batch.table),
        dialect.time(before),
        batch.limit,
        dialect.skip_locked,
    );
    conn.cells(statement, batch.table).await
}

/// Copies the records to the archive.
async fn copy<S: OperateSession>(
    conn: &mut S,
    batch: Batch<'_>,
    archive: &Archive,
    keys: &[Cells],
    now: Timestamp,
) -> Result<(), Error> {
    let dialect = S::DIALECT;
    let (table, into) = (dialect.table(batch.table), archive_table_of(batch.table));
    let ended = "coalesce(result, failure)";
    let computed = dialect.sha256(ended);
    let at_once = if computed.is_some() { AT_ONCE } else { 1 };
    let payloads = if archive.payloads {
        "request, result, failure"
    } else {
        "NULL, NULL, NULL"
    };
    let why = match batch.purgeable {
        Purgeable::Expired => "expired",
        Purgeable::Unknown(_) => "unknown",
    };
    for some in keys.chunks(at_once) {
        let condition = any(&dialect, some);
        let hash = match &computed {
            Some(hash) => hash.clone(),
            None => hash_here(conn, batch.table, ended, &condition).await?,
        };
        let statement = format!(
            "INSERT INTO {} (archived_at, actor, account, why, on_table, namespace, scope, record_key, operation, status, \
             attempt, attempt_id, created_at, expires_at, locked_until, fingerprint_version, fingerprint, codec, payload_hash, \
             request, result, failure) SELECT {}, {}, {}, {}, {}, namespace, scope, {}, operation, status, attempt, \
             attempt_id, created_at, expires_at, locked_until, fingerprint_version, fingerprint, codec, {hash}, {payloads} \
             FROM {table} WHERE {condition}",
            dialect.table(&into),
            dialect.time(now),
            dialect.text(&archive.actor),
            dialect.account,
            dialect.text(why),
            dialect.text(batch.table),
            dialect.key,
        );
        let written = conn.change(statement, &into).await?;
        whole(written, some.len())?;
    }
    Ok(())
}

/// Returns the hash of one record's payload, where the database cannot compute it.
async fn hash_here<S: OperateSession>(
    conn: &mut S,
    table: &str,
    ended: &str,
    condition: &str,
) -> Result<String, Error> {
    let dialect = S::DIALECT;
    let statement = format!(
        "SELECT {} FROM {} WHERE {condition}",
        dialect.bytes_cell(ended),
        dialect.table(table)
    );
    let rows = conn.cells(statement, table).await?;
    let bytes = rows.first().and_then(|row| row.bytes(0));
    Ok(match bytes {
        Some(bytes) => dialect.bytes(&sha256(&bytes)),
        None => "NULL".to_owned(),
    })
}

/// Hands the records to the program's own function.
async fn hand_over<S: OperateSession>(
    conn: &mut S,
    batch: Batch<'_>,
    function: &PurgeFunction<S>,
    payloads: bool,
    keys: &[Cells],
) -> Result<(), Error> {
    let dialect = S::DIALECT;
    let columns = record::columns(&dialect, payloads);
    let mut records = Vec::with_capacity(keys.len());
    for some in keys.chunks(AT_ONCE) {
        let statement = format!(
            "SELECT {columns} FROM {} WHERE {}",
            dialect.table(batch.table),
            any(&dialect, some)
        );
        for row in conn.cells(statement, batch.table).await? {
            records.push(record::read(&row, &dialect)?);
        }
    }
    whole(number(records.len()), keys.len())?;
    conn.change(format!("SAVEPOINT {SAVEPOINT}"), batch.table)
        .await?;
    function(conn, &records).await.map_err(Error::Archive)?;
    let released = conn
        .change(format!("RELEASE SAVEPOINT {SAVEPOINT}"), batch.table)
        .await;
    match released {
        Ok(_) => Ok(()),
        Err(error @ Error::Unavailable(_)) => Err(error),
        Err(_) => Err(Error::TransactionEnded),
    }
}

/// The condition that finds these records.
fn any(dialect: &Dialect, keys: &[Cells]) -> String {
    let keys = keys.iter().map(|row| {
        format!(
            "(namespace = {} AND scope = {} AND {} = {})",
            dialect.text(row.text(0).unwrap_or_default()),
            dialect.text(row.text(1).unwrap_or_default()),
            dialect.key,
            dialect.text(row.text(2).unwrap_or_default()),
        )
    });
    keys.collect::<Vec<_>>().join(" OR ")
}

/// Refuses if a trigger, a rule or a policy has left rows out: nothing may be deleted that was not handed over.
fn whole(rows: u64, expected: usize) -> Result<(), Error> {
    if rows == number(expected) {
        return Ok(());
    }
    let found = format!("a statement has changed or shown {rows} rows of {expected}");
    Err(Error::Archive(found.into()))
}

fn number(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
