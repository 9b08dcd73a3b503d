//! Enters an attempt's identity among those that run in this process.

use std::sync::Arc;

use sqlx::sqlite::SqliteConnection;

use super::claim::SqliteClaimRequest;
use super::running::{self, Runner, RunningKey};
use crate::decision::Lock;
use crate::stores::fast_check;
use crate::values::error::Error;

/// Enters the identity of an attempt whose entry is dropped before the borrow of its connection ends.
pub(super) async fn enter_borrowed(
    conn: &mut SqliteConnection,
    request: &SqliteClaimRequest,
    database_path: Option<&Arc<str>>,
) -> Result<(Lock, Option<RunningKey>), Error> {
    match database_path.or(request.pool_traits.shared_memory.as_ref()) {
        Some(path) => {
            let runner = Runner::borrowed(conn);
            enter_as(conn, request, Arc::clone(path), runner).await
        }
        None => Box::pin(enter(conn, request, None)).await,
    }
}

/// Enters the identity of an attempt.
pub(super) async fn enter(
    conn: &mut SqliteConnection,
    request: &SqliteClaimRequest,
    database_path: Option<&Arc<str>>,
) -> Result<(Lock, Option<RunningKey>), Error> {
    let runner = Runner::handle(conn).await?;
    let database_path = database_path.or(request.pool_traits.shared_memory.as_ref());
    // A database without a name belongs to this connection only.
    let database_path =
        database_path.map_or_else(|| format!("connection {runner:?}").into(), Arc::clone);
    enter_as(conn, request, database_path, runner).await
}

async fn enter_as(
    conn: &mut SqliteConnection,
    request: &SqliteClaimRequest,
    database_path: Arc<str>,
    runner: Runner,
) -> Result<(Lock, Option<RunningKey>), Error> {
    let holder = match RunningKey::enter(database_path, request.lock_key, runner) {
        Ok(running) => return Ok((Lock::Granted, Some(running))),
        Err(holder) => holder,
    };
    let here = match holder {
        Runner::Borrowed(_) => Runner::borrowed(conn),
        Runner::Handle(_) => Runner::handle(conn).await?,
    };
    let lock = if holder == here {
        Lock::Nested
    } else if fast_check::is_on() {
        Lock::Refused
    } else {
        Lock::Granted
    };
    Ok((lock, None))
}

/// Returns whether another connection of this process runs the identity. One without a name for its database
/// shares it with no other.
pub(super) fn is_running(request: &SqliteClaimRequest, database_path: Option<&Arc<str>>) -> bool {
    let database_path = database_path.or(request.pool_traits.shared_memory.as_ref());
    fast_check::is_on()
        && database_path.is_some_and(|path| running::is_entered(path, request.lock_key))
}
