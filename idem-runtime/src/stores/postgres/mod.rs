//! PostgreSQL: an advisory lock for speed, and one INSERT at the end for correctness.
//!
//! Between BEGIN and COMMIT the library writes one row and nothing else. The order of a fresh run: BEGIN,
//! setting and lock in one batch; look-up, in a snapshot taken after the lock; body; INSERT under the ownership
//! check; COMMIT. `fused` does the same in fewer messages.
//!
//! The **ownership check** is the setting `idem.held`. It is local to the transaction, so it reverts with the
//! transaction or the savepoint exactly as the lock does. It lists `lock_key:attempt` for each claim without a
//! record yet. An INSERT that does not find its own attempt there writes nothing.

mod claim;
mod create;
#[cfg(feature = "operate")]
mod doctor;
mod error;
mod fused;
mod hold;
mod in_sync;
mod lapsed;
mod lease;
mod lease_message;
mod look_up_before_begin;
#[cfg(feature = "operate")]
mod operate;
mod pool_traits;
mod purge;
mod row;
#[cfg(feature = "metrics")]
mod sample;
pub(crate) mod sql;
mod statement;
mod unit;
mod verify;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};

use self::claim::{PgClaim, PgClaimRequest, PgFound, PgHeldClaim, PgPoolTraits};
use self::statement::Statement;
use super::recent_keys;
use super::session::{BodyWrites, NewRecord, Purgeable, Session, Written, sealed::Sealed};
use crate::decision::{Lock, Lookup};
use crate::values::error::{Error, SchemaFinding};
use crate::values::key::Scope;
use crate::values::record::AttemptId;

impl Sealed for PgConnection {}

impl Session for PgConnection {
    type PoolTraits = PgPoolTraits;
    type Claim = PgClaim;

    fn has_transaction(&self) -> bool {
        self.is_in_transaction()
    }

    async fn claim(&mut self, request: &PgClaimRequest) -> Result<PgFound, Error> {
        // Two statements of one message: the look-up's snapshot is taken after the lock.
        let join = sql::join(request, self.cached_statements_size() > 0);
        let text = format!("{join}; {}", look_up_text(request));
        let rows = self
            .fetch_all(sqlx::raw_sql(AssertSqlSafe(text)))
            .await
            .map_err(|error| error::table_error(error, &request.table, "SELECT"))?;
        let [joined, looked_up] = &*rows else {
            return Err(error::map_error(error::out_of_sync()));
        };
        let answer: &str = joined.try_get(0).map_err(error::map_error)?;
        let (mut found, claims) = read_lookup(looked_up, request)?;
        found.lookup.lock = match answer {
            "nested" => Lock::Nested,
            "refused" => Lock::Refused,
            "granted" if claims.contains(&sql::held_claim(request)) => Lock::Granted,
            "none" => Lock::NoTransaction,
            _ => return Err(error::map_error(error::out_of_sync())),
        };
        if joined.try_get(1).map_err(error::map_error)? {
            // No statement of this claim shows it, and the body's would fail.
            self.clear_cached_statements()
                .await
                .map_err(error::map_error)?;
        }
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
            .bind(record.format.fingerprint_version)
            .bind(record.format.codec)
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
            .bind(sql::held_claim(request))
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

    async fn has_holds(&mut self, table: &str) -> Result<bool, Error> {
        hold::exist(self, table).await
    }

    async fn lock_holds(&mut self, table: &str) -> Result<bool, Error> {
        hold::lock(self, table).await
    }

    async fn is_held(&mut self, table: &str, scope: &Scope) -> Result<bool, Error> {
        hold::is_held(self, table, scope).await
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

/// Remembers the request's key, which has a record or is in flight: a retry then looks it up first.
fn remember(request: &PgClaimRequest) {
    recent_keys::insert(request.pool_traits.database, request.lock_key);
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

/// Returns the look-up's text, for a message of several statements.
fn look_up_text(request: &PgClaimRequest) -> String {
    Statement::new(sql::look_up(&request.table), false)
        .bind(request.identity.namespace())
        .bind(request.identity.scope().as_str())
        .bind(request.identity.key().as_str())
        .into_text()
}

/// Looks the record up, and whether another session holds the identity's lock. Asks for no lock: a claim would
/// meet it, and be refused.
async fn look_and_ask(conn: &mut PgConnection, request: &PgClaimRequest) -> Result<Lookup, Error> {
    let named = keeps_statements(conn, request);
    let row = Statement::new(sql::look_for_waiters(&request.table), named)
        .bind(request.identity.namespace())
        .bind(request.identity.scope().as_str())
        .bind(request.identity.key().as_str())
        .bind(request.lock_key.lock_number())
        .fetch_one(conn)
        .await
        .map_err(|error| error::table_error(error, &request.table, "SELECT"))?;
    if row.try_get("is_apart").map_err(error::map_error)? {
        // Those who wait would be answered by a record that may never be committed.
        return Err(Error::AlreadyInTransaction);
    }
    let mut lookup = read_lookup(&row, request)?.0.lookup;
    if row.try_get("is_locked").map_err(error::map_error)? {
        lookup.lock = Lock::Refused;
    }
    Ok(lookup)
}

/// Reads a look-up's row: the record, and the claims held in its transaction.
fn read_lookup(row: &PgRow, request: &PgClaimRequest) -> Result<(PgFound, String), Error> {
    let table_oid: i64 = row.try_get("table_oid").map_err(error::map_error)?;
    let record = row::record(row, row::text)?;
    if record.is_some() {
        remember(request);
    }
    let verified: &str = row.try_get("verified").map_err(error::map_error)?;
    let isolation: &str = row.try_get("isolation").map_err(error::map_error)?;
    let lookup = Lookup {
        record,
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
