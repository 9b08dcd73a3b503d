//! Units of work on PostgreSQL: begin, join, savepoint, commit.

use sqlx::postgres::{PgConnection, PgTransactionManager, Postgres};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Pool, Row as _, Transaction};
use sqlx_core::transaction::TransactionManager as _;

use super::super::backend::{Backend, FinishOutcome, NotOpened, Opened, finish};
use super::super::lapsed::{LapsedLease, LapsedSearch};
use super::super::rollback_guard::RollbackGuard;
#[cfg(feature = "metrics")]
use super::super::session::TableSample;
use super::super::session::{BodyWrites, CommitError, NewRecord, Purgeable, Session as _};
use super::claim::{FusedFallback, PgClaimRequest, PgHeldClaim, PgPoolTraits};
#[cfg(feature = "metrics")]
use super::sample;
use super::{
    Own as _, error, fused, in_sync, lapsed, look, look_and_ask, look_up_before_begin, pool_traits,
    purge, remember, sql,
};
use crate::decision::{Lock, Lookup};
use crate::values::error::Error;

impl Backend for Postgres {
    type Approach = Option<FusedFallback>;

    fn pool_traits(pool: &Pool<Self>) -> Result<PgPoolTraits, Error> {
        Ok(pool_traits::of(&pool.connect_options()))
    }

    async fn look_up_before_begin(
        conn: &mut PgConnection,
        request: &PgClaimRequest,
        approach: &mut Self::Approach,
    ) -> Result<Option<Lookup>, Error> {
        match approach {
            None => {
                let found = look_up_before_begin::look(conn, request).await?;
                if found.is_some() {
                    // If the record is to be replaced, the fused path does not apply.
                    *approach = Some(FusedFallback::Recorded);
                    remember(request);
                }
                Ok(found)
            }
            Some(FusedFallback::Raised(found)) => {
                let found = Lookup::clone(found);
                fused::roll_back_unawaited(conn).await;
                *approach = Some(FusedFallback::Recorded);
                remember(request);
                Ok(Some(found))
            }
            Some(FusedFallback::Recorded | FusedFallback::InFlight) => {
                fused::look(conn, request).await
            }
            Some(FusedFallback::Unprepared) => {
                fused::prepare(conn, &request.table).await.map(|()| None)
            }
            Some(FusedFallback::Unfit) => Ok(None),
        }
    }

    async fn look_for_waiters(
        conn: &mut PgConnection,
        request: &PgClaimRequest,
    ) -> Result<Lookup, Error> {
        // Those whom the look wakes ask for themselves, and need not raise an error for it.
        remember(request);
        let lookup = look_and_ask(conn, request).await?;
        if lookup.record.is_some() || matches!(lookup.lock, Lock::Refused) {
            return Ok(lookup);
        }
        // The snapshot may be older than the end of the attempt that held the lock: this one is not.
        look_and_ask(conn, request).await
    }

    async fn open<'c>(
        conn: &'c mut PgConnection,
        request: &PgClaimRequest,
    ) -> Result<Opened<'c, Self>, Error> {
        open_plainly(conn, request, sql::begin(request)).await
    }

    async fn open_to_run<'c>(
        conn: &'c mut PgConnection,
        request: &PgClaimRequest,
        approach: Self::Approach,
        may_discard: bool,
    ) -> Result<Opened<'c, Self>, NotOpened<Self::Approach>> {
        match approach {
            None | Some(FusedFallback::Unprepared) if request.pool_traits.fuses => {
                fused::open(conn, request, may_discard)
                    .await
                    .map_err(|again| again.after(approach.is_some()))
            }
            None
            | Some(FusedFallback::Recorded | FusedFallback::Raised(_) | FusedFallback::InFlight) => {
                Ok(Self::open(conn, request).await?)
            }
            // The fused path left the transaction that it began aborted.
            Some(FusedFallback::Unprepared | FusedFallback::Unfit) => {
                Ok(open_plainly(conn, request, sql::begin_after_fused(request)).await?)
            }
        }
    }

    fn finishes_in_one(claim: &PgHeldClaim) -> bool {
        claim.dialect.fused
    }

    async fn open_plain(conn: &mut PgConnection) -> Result<Transaction<'_, Self>, Error> {
        conn.begin_with(AssertSqlSafe(sql::begin_plain()))
            .await
            .map_err(error::begin_error)
    }

    async fn join<'c>(
        conn: &'c mut PgConnection,
        request: &PgClaimRequest,
    ) -> Result<Opened<'c, Self>, Error> {
        let mut tx = Self::join_plain(conn).await?;
        let found = tx.claim(request).await;
        Ok((tx, found))
    }

    async fn join_plain(conn: &mut PgConnection) -> Result<Transaction<'_, Self>, Error> {
        RollbackGuard::new(conn.begin())
            .await
            .map_err(error::map_error)
    }

    async fn clear(conn: &mut PgConnection) {
        if !conn.is_in_transaction() {
            // If there is nothing to end, the server warns. A lost connection reports itself again at its next
            // use.
            let _ = conn.execute(sql::ROLLBACK).await;
        }
    }

    async fn reopen(_: &mut Transaction<'_, Self>) -> bool {
        // A ROLLBACK outside any transaction succeeds, with a warning.
        true
    }

    async fn has_ended(tx: &mut Transaction<'_, Self>, claim: &PgHeldClaim) -> Result<bool, Error> {
        let (asked, ended) = sql::ended(&claim.request);
        let answer = tx.fetch_optional(sqlx::raw_sql(AssertSqlSafe(asked))).await;
        // If the connection is out of step, this is another statement's answer.
        Ok(matches!(answer, Ok(Some(row)) if row.try_get(0).is_ok_and(|said: &str| said == ended)))
    }

    async fn check_transaction(tx: &mut Transaction<'_, Self>) -> Result<(), Error> {
        // COMMIT reports success also for an aborted transaction, and without one. A savepoint is refused in
        // both cases.
        tx.execute(sql::CHECK_TRANSACTION)
            .await
            .map_err(error::map_error)?;
        match in_sync::is_in_sync(tx).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(error::map_error(error::out_of_sync())),
            Err(error) => Err(error::map_error(error)),
        }
    }

    async fn is_in_sync(conn: &mut PgConnection) -> bool {
        // If a lost connection does not answer, no later statement can read that answer.
        in_sync::is_in_sync(conn).await.unwrap_or(true)
    }

    async fn hang_up(conn: &mut PgConnection) {
        in_sync::hang_up(conn).await;
    }

    async fn finish<'c>(
        tx: Transaction<'c, Self>,
        claim: &PgHeldClaim,
        record: &NewRecord<'_>,
        body_writes: BodyWrites,
    ) -> FinishOutcome<'c, Self> {
        let outcome = if claim.dialect.fused && fused::fits(record) {
            fused::finish(tx, claim, record, body_writes).await
        } else {
            finish(tx, claim, record, body_writes).await
        };
        if let FinishOutcome::Committed = outcome {
            remember(&claim.request);
        }
        outcome
    }

    async fn end(tx: &mut Transaction<'_, Self>) -> Result<(), CommitError> {
        let Err(error) = PgTransactionManager::commit(tx).await else {
            return Ok(());
        };
        if error::is_ambiguous(&error) {
            return Err(CommitError::Ambiguous(error));
        }
        tx.begin_again().await;
        Err(CommitError::RolledBack(error::commit_error(error)))
    }

    async fn sweep(
        conn: &mut PgConnection,
        table: &str,
        purgeable: Purgeable,
        limit: u32,
    ) -> Result<Option<u64>, Error> {
        purge::leading(conn, table, purgeable, limit).await
    }

    async fn lapsed(
        conn: &mut PgConnection,
        search: &LapsedSearch<'_>,
    ) -> Result<Vec<LapsedLease>, Error> {
        lapsed::lapsed(conn, search).await
    }

    #[cfg(feature = "metrics")]
    async fn sample(
        conn: &mut PgConnection,
        table: &str,
        unknown_for: i64,
    ) -> Result<TableSample, Error> {
        sample::sample(conn, table, unknown_for).await
    }

    fn is_momentary(error: &Error) -> bool {
        // A lease's claim uses another connection, or this one with its statements prepared anew.
        matches!(error, Error::StatementsLost(_))
    }

    fn may_be_conflict(error: &Error) -> bool {
        matches!(error, Error::Database(error) if error::may_be_our_conflict(error.as_sqlx()))
    }

    fn map_error(error: sqlx::Error) -> Error {
        error::map_error(error)
    }
}

/// Begins with this text, and looks the record up in a separate statement.
async fn open_plainly<'c>(
    conn: &'c mut PgConnection,
    request: &PgClaimRequest,
    begin: String,
) -> Result<Opened<'c, Postgres>, Error> {
    let mut tx = conn
        .begin_with(AssertSqlSafe(begin))
        .await
        .map_err(error::begin_error)?;
    let found = look(&mut tx, request)
        .await
        .and_then(|(mut found, claims)| {
            found.lookup.lock = lock_answer(&claims, request).ok_or(Error::AlreadyInTransaction)?;
            if found.lookup.lock == Lock::Refused {
                remember(request);
            }
            Ok(found)
        });
    Ok((tx, found))
}

/// Returns the answer to the request for the lock, by the setting that the BEGIN batch made; `None` if it made
/// none.
pub(super) fn lock_answer(claims: &str, request: &PgClaimRequest) -> Option<Lock> {
    let (owner, attempt) = claims.split_once(':')?;
    if attempt.trim_end_matches(',') != request.attempt_id.as_uuid().to_string() {
        return None;
    }
    Some(if owner == "-" {
        Lock::Refused
    } else {
        Lock::Granted
    })
}
