//! Claims in an open transaction: the caller's, or that of the owner of a plain store.

use sqlx::Executor as _;
use sqlx::mysql::MySqlConnection;

use super::claim::{MySqlClaimRequest, MySqlFound, refused, seen_nothing};
use super::message::last;
use super::placeholder::insert;
use super::row::{self, Look};
use super::{error, in_sync, newest, rows, sql};
use crate::decision::Lock;
use crate::values::error::Error;

/// What a look-up in an open transaction has met.
pub(super) enum Inside {
    /// The look-up itself, or why it failed.
    Looked(Result<Box<Look>, Error>),
    /// No transaction is open.
    NoTransaction,
}

/// Looks the record up, and takes no lock: an INSERT that fails because there is a record would lock the gap before
/// it too.
pub(super) async fn look(conn: &mut MySqlConnection, request: &MySqlClaimRequest) -> Inside {
    match rows(conn, sql::look_inside(request)).await {
        Ok(rows) => Inside::Looked(last(rows).and_then(Look::at).map(Box::new)),
        Err(error) if error::is_no_savepoint(&error) => Inside::NoTransaction,
        Err(error) => Inside::Looked(Err(error::table_error(error, &request.table))),
    }
}

/// Looks the record up as [`look`] does, and checks before that the connection's answers are in step.
///
/// # Errors
/// No transaction is open, or none any more; or the answers are out of step.
pub(super) async fn check_and_look(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
) -> Result<Inside, Error> {
    match in_sync::rows(conn, &sql::look_inside(request)).await {
        Ok(rows) => {
            let look = last(rows).and_then(Look::at);
            if let Ok(look) = &look {
                // A savepoint outside any transaction is none.
                row::stands(&look.row)?;
            }
            Ok(Inside::Looked(look.map(Box::new)))
        }
        Err(failed) if failed.done < sql::CHECKS => Err(in_sync::map_error(failed.error)),
        Err(failed) => Ok(Inside::Looked(Err(error::table_error(
            failed.error,
            &request.table,
        )))),
    }
}

/// Claims, after a look-up in the same transaction.
pub(super) async fn claim(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
    inside: Inside,
) -> Result<MySqlFound, Error> {
    let look = match inside {
        Inside::Looked(look) => look?,
        Inside::NoTransaction => return Ok(seen_nothing(request, Lock::NoTransaction)),
    };
    row::stands(&look.row)?;
    if look.is_own_claim()? {
        return Ok(seen_nothing(request, Lock::Nested));
    }
    let claimed = if look.is_there()? {
        newest(conn, request).await
    } else {
        insert(conn, request).await
    };
    match claimed {
        Err(Error::Busy(error)) if error::is_locked(error.as_sqlx()) => {
            // `innodb_rollback_on_timeout` rolls back more than the statement.
            match conn.execute(sql::CHECK_TRANSACTION).await {
                Ok(_) => Ok(refused(request)),
                Err(_) => Err(Error::TransactionLost(error)),
            }
        }
        claimed => claimed,
    }
}
