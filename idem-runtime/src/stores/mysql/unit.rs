//! Units of work on MySQL and MariaDB: look up, begin, join, commit.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use sqlx::mysql::{MySql, MySqlConnection, MySqlTransactionManager};
use sqlx::{Connection as _, Executor as _, Pool, Transaction};
use sqlx_core::transaction::TransactionManager as _;

use super::super::backend::{Backend, FinishOutcome, NotOpened, Opened, finish};
use super::super::lapsed::{LapsedLease, LapsedSearch};
use super::super::rollback_guard::RollbackGuard;
#[cfg(feature = "metrics")]
use super::super::session::TableSample;
use super::super::session::{BodyWrites, CommitError, NewRecord, Purgeable, Session as _};
use super::claim::{MySqlApproach, MySqlClaimRequest, MySqlHeldClaim, MySqlPoolTraits};
use super::placeholder::{insert, take_row};
#[cfg(feature = "metrics")]
use super::sample;
use super::{
    error, fused, in_sync, inside, lapsed, look_up_before_begin, look_up_outside, purge, sql,
};
use crate::decision::Lookup;
use crate::stores::fast_check;
use crate::values::error::Error;
use crate::values::record::Status;

/// Whether a session was met whose `completion_type` is not the default. Only then is it worth a statement to
/// restore it after a unit of work.
static RESTORES: AtomicBool = AtomicBool::new(false);

impl Backend for MySql {
    type Approach = MySqlApproach;

    fn pool_traits(pool: &Pool<Self>) -> Result<MySqlPoolTraits, Error> {
        Ok(fused::traits_of(&pool.connect_options()))
    }

    async fn look_up_before_begin(
        conn: &mut MySqlConnection,
        request: &MySqlClaimRequest,
        approach: &mut MySqlApproach,
    ) -> Result<Option<Lookup>, Error> {
        let found = if approach.not_fused {
            if !fast_check::is_on() {
                conn.execute(sql::END).await.map_err(error::map_error)?;
                return Ok(None);
            }
            look_up_outside(conn, request, sql::end_and_look_up(request)).await?
        } else {
            approach.fit_in = fused::fit_in(request);
            let is_fused = approach.fit_in.is_some() && fused::is_fresh(request);
            if is_fused || !fast_check::is_on() {
                return Ok(None);
            }
            look_up_before_begin(conn, request).await?
        };
        let lookup = found.map(|found| found.lookup);
        approach.found_record = lookup
            .as_ref()
            .is_some_and(|lookup| lookup.record.is_some());
        Ok(lookup)
    }

    async fn look_for_waiters(
        conn: &mut MySqlConnection,
        request: &MySqlClaimRequest,
    ) -> Result<Lookup, Error> {
        // Those whom the look wakes ask for themselves, and need no transaction for it.
        fused::remember(request);
        if !fast_check::is_on() {
            // The locking read would wait.
            return Ok(conn.look_up(request).await?.lookup);
        }
        let found = look_up_before_begin(conn, request).await?;
        found
            .map(|found| found.lookup)
            .ok_or(Error::AlreadyInTransaction)
    }

    async fn look_for_status(
        conn: &mut MySqlConnection,
        request: &MySqlClaimRequest,
    ) -> Result<Lookup, Error> {
        // Heartbeats skip a row that a locking read holds, so a live lease is answered by a plain one.
        let found = conn.look_up(request).await?.lookup;
        let is_live = found.record.as_ref().is_some_and(|record| {
            let until = record.locked_until;
            record.status == Status::InProgress && until.is_some_and(|until| until > found.now)
        });
        if is_live {
            return Ok(found);
        }
        Self::look_for_waiters(conn, request).await
    }

    async fn open<'c>(
        conn: &'c mut MySqlConnection,
        request: &MySqlClaimRequest,
    ) -> Result<Opened<'c, Self>, Error> {
        let mut tx = Self::open_plain(conn).await?;
        let found = insert(&mut tx, request).await;
        Ok((tx, found))
    }

    async fn open_to_run<'c>(
        conn: &'c mut MySqlConnection,
        request: &MySqlClaimRequest,
        approach: MySqlApproach,
        _: bool,
    ) -> Result<Opened<'c, Self>, NotOpened<MySqlApproach>> {
        if !approach.found_record {
            return match approach.fit_in {
                Some(fit_in) => fused::open(conn, request, fit_in).await,
                None => Ok(Self::open(conn, request).await?),
            };
        }
        let mut tx = Self::open_plain(conn).await?;
        let found = take_row(&mut tx, request).await;
        Ok((tx, found))
    }

    async fn open_plain(conn: &mut MySqlConnection) -> Result<Transaction<'_, Self>, Error> {
        let text = if RESTORES.load(Relaxed) {
            sql::BEGIN_ANYHOW
        } else {
            sql::BEGIN
        };
        conn.begin_with(text).await.map_err(|error| {
            if error::is_wrong_value(&error) {
                restore_from_now_on();
            }
            error::map_error(error)
        })
    }

    async fn join<'c>(
        conn: &'c mut MySqlConnection,
        request: &MySqlClaimRequest,
    ) -> Result<Opened<'c, Self>, Error> {
        // Comes before the driver's own savepoint, as in `join_plain`.
        let looked = inside::check_and_look(conn, request).await?;
        let mut tx = RollbackGuard::new(conn.begin())
            .await
            .map_err(error::map_error)?;
        let found = inside::claim(&mut tx, request, looked).await;
        Ok((tx, found))
    }

    async fn join_plain(conn: &mut MySqlConnection) -> Result<Transaction<'_, Self>, Error> {
        // Comes before the driver's own savepoint. If the server has no transaction, that one fails too, but by
        // then the driver has forgotten the caller's.
        check_transaction(conn).await?;
        RollbackGuard::new(conn.begin())
            .await
            .map_err(error::map_error)
    }

    async fn clear(conn: &mut MySqlConnection) {
        if !conn.is_in_transaction() {
            // If there is nothing to end, that is no fault. A lost connection reports itself again at its next
            // use.
            let _ = conn.execute(sql::END).await;
            if RESTORES.load(Relaxed) {
                restore(conn).await;
            }
        }
    }

    async fn reopen(tx: &mut Transaction<'_, Self>) -> bool {
        // A ROLLBACK outside any transaction succeeds. It keeps the locks of LOCK TABLES, by which a body has
        // ended its transaction, and a pool would go on holding them.
        let ends = if MySqlTransactionManager::get_transaction_depth(tx) == 1 {
            sql::LEAVE
        } else {
            sql::NOTHING
        };
        let sent = in_sync::send(tx, ends).await;
        !sent.is_err_and(|error| in_sync::is_lost(&error))
    }

    async fn has_ended(
        tx: &mut Transaction<'_, Self>,
        claim: &MySqlHeldClaim,
    ) -> Result<bool, Error> {
        match tx.release_savepoint(claim, BodyWrites::Discard).await {
            // Without a placeholder, nothing distinguishes a commit by the body from a deadlock's rollback.
            Err(Error::TransactionEnded) => Ok(claim.dialect.placeholder),
            Err(error) if error.is_out_of_step() => Err(error),
            Ok(()) | Err(_) => Ok(false),
        }
    }

    async fn check_transaction(tx: &mut Transaction<'_, Self>) -> Result<(), Error> {
        // COMMIT without a transaction reports success.
        check_transaction(tx).await
    }

    async fn hang_up(conn: &mut MySqlConnection) {
        in_sync::hang_up(conn).await;
    }

    async fn finish<'c>(
        tx: Transaction<'c, Self>,
        claim: &MySqlHeldClaim,
        record: &NewRecord<'_>,
        body_writes: BodyWrites,
    ) -> FinishOutcome<'c, Self> {
        let outcome = finish(tx, claim, record, body_writes).await;
        if let FinishOutcome::Committed = outcome {
            fused::remember(&claim.request);
        }
        outcome
    }

    async fn end(tx: &mut Transaction<'_, Self>) -> Result<(), CommitError> {
        let restores = restores(tx);
        MySqlTransactionManager::commit(tx).await.map_err(|error| {
            if error::is_ambiguous(&error) {
                CommitError::Ambiguous(error)
            } else {
                CommitError::RolledBack(error::map_error(error))
            }
        })?;
        if restores {
            restore(tx).await;
        }
        Ok(())
    }

    async fn roll_back(tx: Transaction<'_, Self>) -> Result<(), sqlx::Error> {
        let mut tx = tx;
        if !restores(&tx) {
            return tx.rollback().await;
        }
        MySqlTransactionManager::rollback(&mut tx).await?;
        restore(&mut tx).await;
        Ok(())
    }

    async fn sweep(
        conn: &mut MySqlConnection,
        table: &str,
        purgeable: Purgeable,
        limit: u32,
    ) -> Result<Option<u64>, Error> {
        purge::leading(conn, table, purgeable, limit).await
    }

    async fn lapsed(
        conn: &mut MySqlConnection,
        search: &LapsedSearch<'_>,
    ) -> Result<Vec<LapsedLease>, Error> {
        lapsed::lapsed(conn, search).await
    }

    #[cfg(feature = "metrics")]
    async fn sample(
        conn: &mut MySqlConnection,
        table: &str,
        unknown_for: i64,
    ) -> Result<TableSample, Error> {
        sample::sample(conn, table, unknown_for).await
    }

    fn is_momentary(error: &Error) -> bool {
        error::is_momentary(error)
    }

    fn map_error(error: sqlx::Error) -> Error {
        error::map_error(error)
    }
}

/// Checks that a transaction is open, and that the connection's answers are in step.
async fn check_transaction(conn: &mut MySqlConnection) -> Result<(), Error> {
    in_sync::send(conn, sql::CHECK_TRANSACTION)
        .await
        .map_err(in_sync::map_error)
}

/// Notes that a session was met whose `completion_type` is not the default.
pub(super) fn restore_from_now_on() {
    RESTORES.store(true, Relaxed);
}

/// Returns whether to restore the session after this transaction. Not after a savepoint, in which nothing was
/// set.
fn restores(tx: &Transaction<'_, MySql>) -> bool {
    RESTORES.load(Relaxed) && MySqlTransactionManager::get_transaction_depth(tx) == 1
}

async fn restore(conn: &mut MySqlConnection) {
    // If this fails, the session is over.
    let _ = conn.execute(sql::RESTORE).await;
}
