//! PostgreSQL: an advisory lock for speed, and one INSERT at the end for correctness.
//!
//! Between BEGIN and COMMIT the library writes one row and nothing else. The order of a fresh run: BEGIN,
//! setting and lock in one batch; look-up, in a snapshot taken after the lock; body; INSERT under the ownership
//! check; COMMIT. `fused` does the same in fewer messages.
//!
//! The **ownership check** is the setting `idem.held`. It is local to the transaction, so it reverts with the
//! transaction or the savepoint exactly as the lock does. It lists `lock_key:attempt` for each claim. An INSERT
//! that does not find its own attempt there writes nothing.

mod claim;
mod create;
mod error;
mod fused;
mod in_sync;
mod lease;
mod pool_traits;
mod purge;
mod row;
pub(crate) mod sql;
mod statement;
mod unit;
mod verify;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};

use self::claim::{PgClaim, PgClaimRequest, PgFound, PgHeldClaim, PgPoolTraits};
use self::statement::Statement;
use super::session::{BodyWrites, NewRecord, Purgeable, Session, Written, sealed::Sealed};
use crate::decision::{Lock, Lookup};
use crate::values::error::{Error, SchemaFinding};
use crate::values::fingerprint::FINGERPRINT_VERSION;
use crate::values::record::{AttemptId, CODEC_JSON};

impl Sealed for PgConnection {}

impl Session for PgConnection {
    type PoolTraits = PgPoolTraits;
    type Claim = PgClaim;

    fn has_transaction(&self) -> bool {
        self.is_in_transaction()
    }

    async fn claim(&mut self, request: &PgClaimRequest) -> Result<PgFound, Error> {
        let named = keeps_statements(self, request);
        let answer: String = Statement::new(sql::join(), named)
            .bind(request.lock_key.to_string())
            .bind(request.attempt_id.as_uuid().to_string())
            .bind(request.lock_key.lock_number())
            .fetch_one(&mut *self)
            .await
            .and_then(|row| row.try_get(0))
            .map_err(error::map_error)?;
        let (mut found, claims) = look(self, request).await?;
        found.lookup.lock = match answer.as_str() {
            "nested" => Lock::Nested,
            "refused" => Lock::Refused,
            _ if claims.contains(&request.attempt_id.as_uuid().to_string()) => Lock::Granted,
            // There was no transaction: a setting that is local to one is gone by the next statement.
            _ => Lock::NoTransaction,
        };
        Ok(found)
    }

    async fn look_up(&mut self, request: &PgClaimRequest) -> Result<PgFound, Error> {
        look(self, request).await.map(|(found, _)| found)
    }

    async fn verify(&mut self, claim: &PgHeldClaim) -> Result<(), Error> {
        verify::table(self, &claim.request.table, claim.dialect.table_oid).await
    }

    async fn findings(&mut self, claim: &PgHeldClaim) -> Result<Vec<SchemaFinding>, Error> {
        verify::findings(self, &claim.request.table, claim.dialect.table_oid).await
    }

    async fn set_savepoint(&mut self, claim: &PgHeldClaim, may_discard: bool) -> Result<(), Error> {
        // The ownership check is the setting. A savepoint is needed only if the body's writes may have to be
        // rolled back alone. A fused claim has set it already.
        if may_discard && !claim.dialect.fused {
            self.execute_own(sql::set_savepoint(&claim.request)).await
        } else {
            Ok(())
        }
    }

    async fn release_savepoint(
        &mut self,
        claim: &PgHeldClaim,
        body_writes: BodyWrites,
    ) -> Result<(), Error> {
        if body_writes == BodyWrites::Discard {
            self.execute_own(sql::roll_back_body(&claim.request)).await
        } else {
            Ok(())
        }
    }

    async fn write(
        &mut self,
        claim: &PgHeldClaim,
        record: &NewRecord<'_>,
    ) -> Result<Written, Error> {
        let request = &claim.request;
        let named = keeps_statements(self, request);
        let replaces = record.replaces.is_some();
        let rows = Statement::new(sql::write(&request.table, replaces), named)
            .bind(request.attempt_id.as_uuid().to_string())
            .bind(claim.dialect.table_oid)
            .bind(request.attempt_id.as_uuid())
            .bind(record.attempt)
            .bind(record.status.code())
            .bind(FINGERPRINT_VERSION)
            .bind(CODEC_JSON)
            .bind(request.identity.namespace())
            .bind(request.identity.scope().as_str())
            .bind(request.identity.key().as_str())
            .bind(record.operation)
            .bind(
                record
                    .fingerprint
                    .as_ref()
                    .map(|hash| hash.as_bytes().as_slice()),
            )
            .bind(record.request)
            .bind(record.result)
            .bind(record.failure)
            .bind(record.retention)
            .bind(record.replaces.map(AttemptId::as_uuid))
            .fetch_all(&mut *self)
            .await;
        let written = rows.and_then(|rows| match &*rows {
            [] => Ok(false),
            [row] if row.try_get(0).ok() == Some(request.attempt_id.as_uuid()) => Ok(true),
            _ => Err(error::out_of_sync()),
        });
        match written {
            Ok(true) => Ok(Written::Done),
            Ok(false) => self.why_no_row(claim, record).await,
            Err(error) if error::is_our_conflict(&error, &request.table) => Ok(Written::Conflict),
            Err(error) => {
                let privilege = if replaces {
                    "SELECT, INSERT, UPDATE"
                } else {
                    "INSERT"
                };
                match error::write_error(error, &request.table, privilege) {
                    // The server refuses for these reasons before it evaluates the ownership check.
                    Error::TableMoved { .. } | Error::PermissionDenied { .. }
                        if !self.is_aborted().await =>
                    {
                        Err(Error::TransactionEnded)
                    }
                    refusal => Err(refusal),
                }
            }
        }
    }

    async fn release(&mut self, claim: PgHeldClaim) -> Result<(), Error> {
        let claim_text = sql::held_claim(&claim.request);
        let named = keeps_statements(self, &claim.request);
        let was_held: bool = Statement::new(sql::release(), named)
            .bind(claim_text)
            .fetch_one(self)
            .await
            .and_then(|row| row.try_get(0))
            .map_err(error::map_error)?;
        if was_held {
            Ok(())
        } else {
            Err(Error::TransactionEnded)
        }
    }

    async fn purge(&mut self, table: &str, purgeable: Purgeable, limit: u32) -> Result<u64, Error> {
        purge::batch(self, table, purgeable, limit).await
    }
}

/// The helpers that the methods of [`Session`] share.
trait Own {
    async fn begin_again(&mut self);
    async fn execute_own(&mut self, statement: String) -> Result<(), Error>;
    async fn is_aborted(&mut self) -> bool;
    async fn why_no_row(
        &mut self,
        claim: &PgHeldClaim,
        record: &NewRecord<'_>,
    ) -> Result<Written, Error>;
}

impl Own for PgConnection {
    /// Begins an empty transaction after a refused COMMIT: the driver still counts on a transaction and will
    /// end it, and a ROLLBACK outside any would be answered by a warning. Once BEGIN is answered, the refused
    /// transaction has released its locks.
    async fn begin_again(&mut self) {
        // If the connection fails here, the ROLLBACK fails as well.
        let _ = self.execute(sql::BEGIN).await;
    }

    async fn execute_own(&mut self, statement: String) -> Result<(), Error> {
        self.execute(AssertSqlSafe(statement))
            .await
            .map_err(error::map_error)?;
        Ok(())
    }

    /// Returns whether a transaction is open and aborted by a failed statement. Any failed statement aborts it.
    async fn is_aborted(&mut self) -> bool {
        self.execute(sql::IS_ALIVE).await.is_err()
    }

    /// Returns why the INSERT wrote no row without an error: the ownership check, another table, another
    /// attempt's newer record, or a trigger.
    async fn why_no_row(
        &mut self,
        claim: &PgHeldClaim,
        record: &NewRecord<'_>,
    ) -> Result<Written, Error> {
        let table = &claim.request.table;
        let row = Statement::new(sql::ownership(table), false)
            .bind(claim.request.attempt_id.as_uuid().to_string())
            .bind(claim.dialect.table_oid)
            .fetch_one(self)
            .await
            .map_err(|error| error::write_error(error, table, "INSERT"))?;
        let ours: bool = row.try_get(0).map_err(error::map_error)?;
        let in_place: bool = row.try_get(1).map_err(error::map_error)?;
        match (ours, in_place, record.replaces) {
            (false, ..) => Err(Error::TransactionEnded),
            (true, false, _) => Err(error::moved(table)),
            (true, true, Some(_)) => Ok(Written::Conflict),
            (true, true, None) => Err(Error::RecordNotWritten),
        }
    }
}

/// Returns whether the connection keeps prepared statements, which may then have names. A pool knows. A
/// borrowed connection that has kept none so far gets none of ours: sqlx would name them even with its cache
/// off, and a pooler would mix the names up (sqlx #67).
fn keeps_statements(conn: &PgConnection, request: &PgClaimRequest) -> bool {
    request
        .pool_traits
        .keeps_statements
        .unwrap_or_else(|| conn.cached_statements_size() > 0)
}

/// Looks the record up, and reads the claims held in this transaction.
async fn look(
    conn: &mut PgConnection,
    request: &PgClaimRequest,
) -> Result<(PgFound, String), Error> {
    match look_once(conn, request).await {
        // Outside a transaction a second try loses nothing: the statement is prepared anew.
        Err(lost @ Error::StatementsLost(_)) if !conn.is_in_transaction() => {
            match look_once(conn, request).await {
                // There was a transaction that sqlx does not know of.
                Err(Error::TransactionAborted) => Err(lost),
                again => again,
            }
        }
        found => found,
    }
}

async fn look_once(
    conn: &mut PgConnection,
    request: &PgClaimRequest,
) -> Result<(PgFound, String), Error> {
    let named = keeps_statements(conn, request);
    let row = Statement::new(sql::look_up(&request.table), named)
        .bind(request.identity.namespace())
        .bind(request.identity.scope().as_str())
        .bind(request.identity.key().as_str())
        .fetch_one(conn)
        .await
        .map_err(|error| error::table_error(error, &request.table, "SELECT"))?;
    read_lookup(&row, request)
}

/// Reads a look-up's row: the record, and the claims held in its transaction.
fn read_lookup(row: &PgRow, request: &PgClaimRequest) -> Result<(PgFound, String), Error> {
    let table_oid: i64 = row.try_get("table_oid").map_err(error::map_error)?;
    let verified: &str = row.try_get("verified").map_err(error::map_error)?;
    let isolation: &str = row.try_get("isolation").map_err(error::map_error)?;
    let lookup = Lookup {
        record: row::record(row, row::text)?,
        lock: Lock::NotAsked,
        now: row::timestamp(row, "now")?,
    };
    let claim = PgHeldClaim {
        request: request.clone(),
        snapshot: !isolation.starts_with("read "),
        verified: verified.contains(&format!(",{table_oid},")),
        dialect: PgClaim {
            table_oid,
            fused: false,
        },
    };
    let found = PgFound { lookup, claim };
    Ok((found, row.try_get("held").map_err(error::map_error)?))
}
