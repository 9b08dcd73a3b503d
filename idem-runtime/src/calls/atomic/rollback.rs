//! Rolls a unit of work back, before its body and after.

use sqlx::Transaction;
use sqlx_core::transaction::TransactionManager as _;

use super::connection::ConnectionState;
use crate::stores::Backend;

/// Returns the number of open transactions and savepoints that the driver counts on a connection.
pub(super) fn depth<DB: Backend>(conn: &DB::Connection) -> usize {
    DB::TransactionManager::get_transaction_depth(conn)
}

/// Rolls the transaction back at once, because dropping it only queues the ROLLBACK. The connection
/// is still closed on drop if this fails, or if it ended only a savepoint that a body left open.
/// Returns whether the ROLLBACK (or, in the caller's transaction, ROLLBACK TO SAVEPOINT) succeeded.
pub(super) async fn roll_back<DB: Backend>(
    tx: Transaction<'_, DB>,
    state: &mut ConnectionState,
) -> bool {
    let outermost = depth::<DB>(&tx) <= 1;
    let rolled_back = DB::roll_back(tx).await.is_ok();
    if rolled_back && outermost {
        state.set_close_on_drop(false);
    }
    rolled_back
}

/// Rolls back the writes of a body. Returns whether the rollback succeeded.
pub(super) async fn roll_back_body<DB: Backend>(
    mut tx: Transaction<'_, DB>,
    state: &mut ConnectionState,
) -> bool {
    state.set_unchecked();
    if state.is_out_of_sync() || !DB::reopen(&mut tx).await {
        state.set_out_of_sync();
        return false;
    }
    roll_back(tx, state).await
}

/// Rolls back the nested transactions that the body began and never ended (for example by
/// `mem::forget`; dropped ones are rolled back). Returns whether the body's own transaction was the
/// innermost all along. If it was not, a COMMIT would end a different level: it would release a
/// savepoint and report success.
pub(super) async fn roll_back_nested<DB: Backend>(
    tx: &mut Transaction<'_, DB>,
    own_depth: usize,
    state: &mut ConnectionState,
) -> bool {
    let mut innermost = true;
    while depth::<DB>(tx) > own_depth {
        innermost = false;
        if !DB::reopen(tx).await {
            state.set_out_of_sync();
            break;
        }
        if DB::TransactionManager::rollback(tx).await.is_err() {
            // The driver still counts this level: no further level can be ended.
            break;
        }
    }
    innermost && depth::<DB>(tx) == own_depth
}
