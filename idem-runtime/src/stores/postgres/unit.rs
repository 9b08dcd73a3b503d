//! Units of work on PostgreSQL: begin, join, mark, commit.

use sqlx::postgres::{PgConnection, PgTransactionManager, Postgres};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Pool, Row as _, Transaction};
use sqlx_core::transaction::TransactionManager as _;

use super::super::backend::{Backend, FinishOutcome, Fresh, Opened, finish};
use super::super::rollback_guard::RollbackGuard;
use super::super::session::{
    BodyWrites, ClaimLookup, ClaimRequest, CommitError, FusedFallback, HeldClaim, NewRecord,
    PoolTraits, Purgeable, Session as _,
};
use super::{error, fused, in_sync, look, pool_traits, purge, sql};
use crate::decision::Lock;
use crate::values::error::Error;

impl Backend for Postgres {
    fn pool_traits(pool: &Pool<Self>) -> Result<PoolTraits, Error> {
        Ok(pool_traits::of(&pool.connect_options()))
    }

    async fn look_up_before_begin(
        conn: &mut PgConnection,
        request: &ClaimRequest,
    ) -> Result<Option<ClaimLookup>, Error> {
        match request.fused_fallback {
            Some(FusedFallback::Recorded | FusedFallback::InFlight) => {
                fused::look(conn, request).await
            }
            Some(FusedFallback::Unprepared) => {
                fused::prepare(conn, &request.table).await.map(|()| None)
            }
            Some(FusedFallback::Unfit) | None => Ok(None),
        }
    }

    async fn open_fresh<'c>(
        conn: &'c mut PgConnection,
        request: &ClaimRequest,
        may_discard: bool,
    ) -> Result<Fresh<'c, Self>, Result<FusedFallback, Error>> {
        fused::open(conn, request, may_discard).await
    }

    async fn open<'c>(
        conn: &'c mut PgConnection,
        request: &ClaimRequest,
    ) -> Result<Opened<'c, Self>, Error> {
        let mut tx = conn
            .begin_with(AssertSqlSafe(sql::begin(request)))
            .await
            .map_err(error::begin_error)?;
        let found = look(&mut tx, request)
            .await
            .and_then(|(mut found, claims)| {
                found.lock = lock_answer(&claims, request).ok_or(Error::AlreadyInTransaction)?;
                Ok(found)
            });
        Ok((tx, found))
    }

    async fn open_plain(conn: &mut PgConnection) -> Result<Transaction<'_, Self>, Error> {
        conn.begin_with(AssertSqlSafe(sql::begin_plain()))
            .await
            .map_err(error::begin_error)
    }

    async fn join<'c>(
        conn: &'c mut PgConnection,
        request: &ClaimRequest,
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
            // A warning where there is nothing to end; a dead link says so again to whoever uses it
            // next.
            let _ = conn.execute("ROLLBACK").await;
        }
    }

    async fn reopen(_: &mut Transaction<'_, Self>) -> bool {
        // A ROLLBACK outside any transaction succeeds, with a warning.
        true
    }

    async fn has_ended(tx: &mut Transaction<'_, Self>, claim: &HeldClaim) -> Result<bool, Error> {
        let (asked, ended) = sql::ended(&claim.request);
        let answer = tx.fetch_optional(sqlx::raw_sql(AssertSqlSafe(asked))).await;
        // Of a connection that is out of step, this is another statement's answer.
        Ok(matches!(answer, Ok(Some(row)) if row.try_get(0).is_ok_and(|said: &str| said == ended)))
    }

    async fn check_transaction(tx: &mut Transaction<'_, Self>) -> Result<(), Error> {
        // COMMIT of an aborted transaction, and of none, reports success. A savepoint is refused in
        // either.
        tx.execute("SAVEPOINT idem_end")
            .await
            .map_err(error::map_error)?;
        match in_sync::is_in_sync(tx).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(error::map_error(error::out_of_sync())),
            Err(error) => Err(error::map_error(error)),
        }
    }

    async fn is_in_sync(conn: &mut PgConnection) -> bool {
        // What a dead link does not answer, nobody reads later.
        in_sync::is_in_sync(conn).await.unwrap_or(true)
    }

    async fn hang_up(conn: &mut PgConnection) {
        in_sync::hang_up(conn).await;
    }

    async fn finish<'c>(
        tx: Transaction<'c, Self>,
        claim: &HeldClaim,
        record: &NewRecord<'_>,
        body_writes: BodyWrites,
    ) -> FinishOutcome<'c, Self> {
        if claim.fused {
            return fused::finish(tx, claim, record, body_writes).await;
        }
        finish(tx, claim, record, body_writes).await
    }

    async fn end(tx: &mut Transaction<'_, Self>) -> Result<(), CommitError> {
        let Err(error) = PgTransactionManager::commit(tx).await else {
            return Ok(());
        };
        if error::is_ambiguous(&error) {
            return Err(CommitError::Ambiguous(error));
        }
        begin_again(tx).await;
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

    fn is_momentary(error: &Error) -> bool {
        // A lease's claim takes another connection, or this one with its statements prepared anew.
        matches!(error, Error::StatementsLost(_))
    }

    fn may_be_conflict(error: &Error) -> bool {
        matches!(error, Error::Database(error) if error::may_be_our_conflict(error.as_sqlx()))
    }

    fn map_error(error: sqlx::Error) -> Error {
        error::map_error(error)
    }
}

/// After a COMMIT that was refused: begins an empty transaction, for the driver still counts on one and
/// will end it. ROLLBACK of none would be answered by a warning. When this is answered, the refused one
/// has let go of its locks.
pub(super) async fn begin_again(tx: &mut Transaction<'_, Postgres>) {
    // A link that fails here fails the ROLLBACK as well.
    let _ = tx.execute("BEGIN").await;
}

/// What came of the lock, by the setting that the BEGIN batch made; `None` if it made none.
pub(super) fn lock_answer(claims: &str, request: &ClaimRequest) -> Option<Lock> {
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
