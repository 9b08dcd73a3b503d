//! Looks a key up before any transaction, if this process has lately found it recorded or in flight.
//!
//! One SELECT then answers a replay, a mismatch, a recorded failure, and a call in flight; nothing is raised, so
//! nothing is written to the server's log. If it finds nothing, or its answer may not be used, the call claims as
//! any other does.
//!
//! # Why it is right
//!
//! **The record.** The statement has a snapshot of its own, so it sees all that was committed before. It is
//! decided on as every other look-up is. A session that somebody left inside a transaction could show it writes
//! that are not committed; a standby could show what is no longer so. The answer says if it is either, and is
//! then not used.
//!
//! **In flight.** Only if there is no record, the statement asks for the lock: in shared mode, and for itself
//! alone. If it is refused, another attempt has the lock. If it is granted, nobody had it, and this call goes on
//! to claim. A claim that meets the shared lock in that moment is not taken for one in flight: before it is
//! refused it asks likewise ([`fused`](super::fused)). On the plain path it is refused: there it has met a call
//! of the same key that is about to claim, and of calls that come together one always does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Connection as _, Row as _};
use uuid::Uuid;

use super::super::bounded::Bounded;
use super::super::recent_keys;
use super::claim::PgClaimRequest;
use super::statement::Statement;
use super::{error, keeps_statements, row, sql};
use crate::decision::{Lock, Lookup};
use crate::values::error::Error;

/// Looks the key up if it is a recent one. Returns `None` if the call must claim.
pub(super) async fn look(
    conn: &mut PgConnection,
    request: &PgClaimRequest,
) -> Result<Option<Lookup>, Error> {
    if !recent_keys::contains(request.pool_traits.database, request.lock_key) {
        return Ok(None);
    }
    let row = match send(conn, request).await {
        Err(error) if error::is_dead_statement(&error) => send(conn, request).await,
        row => row,
    };
    match row {
        Ok(row) => Ok(read(&row, request)),
        // The claim reports why the server refuses.
        Err(error) if error::raised(&error).is_some() => Ok(None),
        Err(error) => Err(error::map_error(error)),
    }
}

async fn send(conn: &mut PgConnection, request: &PgClaimRequest) -> Result<PgRow, sqlx::Error> {
    let prepares = keeps_statements(conn, request)
        && (conn.cached_statements_size() > 0 || !goes_as_text(request));
    let statement = if prepares {
        Statement::kept(named_text(&request.table))
    } else {
        Statement::new(sql::look_up_before_begin(&request.table, false), false)
    };
    statement
        .bind(request.identity.namespace())
        .bind(request.identity.scope().as_str())
        .bind(request.identity.key().as_str())
        .bind(request.attempt_id.as_uuid())
        .bind(request.lock_key.lock_number())
        .fetch_one(conn)
        .await
}

/// The times that a connection which has prepared nothing is asked with the text alone, in a process: 128.
const TEXTS: u32 = 128;

/// Returns whether a connection that has prepared nothing is asked with the text alone. To prepare takes a round
/// trip, and the connection may never be asked again: a short process saves it. One that goes on pays for the text
/// at each replay, more than the round trip.
fn goes_as_text(request: &PgClaimRequest) -> bool {
    static LEFT: AtomicU32 = AtomicU32::new(TEXTS);
    request.pool_traits.keeps_statements.is_none()
        || LEFT
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            })
            .is_ok()
}

/// Returns the text of the named statement, which is written once for each table that is remembered.
fn named_text(table: &str) -> Arc<str> {
    static KNOWN: Bounded<String, Arc<str>> = Bounded::new();
    KNOWN.find(|known| known == table).unwrap_or_else(|| {
        let text: Arc<str> = sql::look_up_before_begin(table, true).into();
        KNOWN.insert(table.to_owned(), Arc::clone(&text));
        text
    })
}

/// Returns the finding, if the answer may be used and does not leave the decision to the claim.
fn read(row: &PgRow, request: &PgClaimRequest) -> Option<Lookup> {
    let asked: Uuid = row.try_get("asked").ok()?;
    let is_apart: bool = row.try_get("is_apart").ok()?;
    if asked != request.attempt_id.as_uuid() || is_apart {
        return None;
    }
    let busy: Option<bool> = row.try_get("busy").ok()?;
    let record = row::record(row, row::text).ok()?;
    if record.is_none() && busy != Some(true) {
        return None;
    }
    let lock = if record.is_none() {
        Lock::Refused
    } else {
        Lock::NotAsked
    };
    let now = row::timestamp(row, "now").ok()?;
    Some(Lookup { record, lock, now })
}
