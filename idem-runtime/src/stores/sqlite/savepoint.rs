//! The savepoint before the body, which is the ownership check.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Executor as _};

use super::super::session::BodyWrites;
use super::claim::{Savepoint, SqliteHeldClaim};
use super::{error, sql};
use crate::values::error::Error;

/// Sets the savepoint, if the claim has not.
pub(super) async fn set(conn: &mut SqliteConnection, claim: &SqliteHeldClaim) -> Result<(), Error> {
    if let Savepoint::OfAttempt = claim.dialect.savepoint {
        let statement = sql::set_savepoint(&claim.request);
        conn.execute(AssertSqlSafe(statement))
            .await
            .map_err(error::map_error)?;
    }
    Ok(())
}

/// Releases the savepoint, and first rolls back to it if `body_writes` says so.
pub(super) async fn release(
    conn: &mut SqliteConnection,
    claim: &SqliteHeldClaim,
    body_writes: BodyWrites,
) -> Result<(), Error> {
    let released = match claim.dialect.savepoint {
        Savepoint::OfUnit { .. } => {
            let statement = sql::unit::end_savepoint(body_writes);
            sqlx::query(AssertSqlSafe(statement)).execute(conn).await
        }
        Savepoint::OfAttempt => {
            let statement = sql::end_savepoint(&claim.request, body_writes);
            conn.execute(AssertSqlSafe(statement)).await
        }
    };
    released.map(drop).map_err(error::savepoint_error)
}
