//! MySQL and MariaDB: a placeholder whose row lock is the claim, and the primary key behind it.
//!
//! The order of a fresh run: a look-up without a transaction, by a locking read that does not wait; BEGIN;
//! INSERT of a placeholder (status 0) without waiting, and SAVEPOINT; body; RELEASE; UPDATE of the placeholder
//! to the record; COMMIT. Any other INSERT of the key meanwhile meets the row's lock. A pool of MariaDB whose table
//! is known to be fit leaves the look-up out, and begins and claims in one message ([`fused`]); RELEASE and UPDATE
//! are one message everywhere ([`record`]).
//!
//! The **ownership check** is the savepoint, named after the attempt. The end of the transaction ends it
//! (COMMIT, ROLLBACK, a statement that commits implicitly as all DDL does, a deadlock that rolled all back),
//! and then no record is written. A placeholder that was committed in this way has a status that no record has.
//! It is an error to all later callers and never a fresh key, because the body's writes up to then are
//! committed as well.
//!
//! Between any two statements something may happen, and any answer may be lost:
//!
//! - among the statements of one message: as between them. An error ends the message; what it has begun is ended
//!   before anything else is sent, or the connection is closed.
//! - after the look-up: another attempt claims, and the INSERT meets its lock or its record. Or a purge has the
//!   lock, or the neighbour of another key. Ask again.
//! - after BEGIN, the INSERT, the SAVEPOINT: nothing that others could see; the session's end rolls back.
//!   Galera may undo the transaction without an error: the claim asks last whether one is open.
//! - in the body: anything. The savepoint tells.
//! - after RELEASE or the UPDATE: the library sends nothing between them and COMMIT.
//! - at COMMIT: a claim on another connection asks. The attempt is in flight as long as the old session holds
//!   the row; then there is a record, which names its attempt, or none.

mod claim;
mod create;
#[cfg(feature = "operate")]
mod doctor;
mod error;
mod fused;
mod hold;
mod in_sync;
mod inside;
mod lapsed;
mod lease;
mod message;
#[cfg(feature = "operate")]
mod operate;
mod placeholder;
mod purge;
mod record;
mod row;
#[cfg(feature = "metrics")]
mod sample;
pub(crate) mod sql;
mod unit;
mod verify;

use sqlx::mysql::MySqlConnection;
use sqlx::{Connection as _, Executor as _};

use self::claim::{
    MySqlClaim, MySqlClaimRequest, MySqlFound, MySqlHeldClaim, MySqlPoolTraits, refused,
    seen_nothing,
};
use self::message::{alone, clock, fits, last, rows};
use self::placeholder::withdraw;
use self::row::Look;
use super::session::{BodyWrites, NewRecord, Purgeable, Session, Written, sealed::Sealed};
use crate::decision::Lock;
use crate::values::error::{Error, SchemaFinding};
use crate::values::key::Scope;
use crate::values::policy::DEFAULT_RETRY_AFTER;

impl Sealed for MySqlConnection {}

impl Session for MySqlConnection {
    type PoolTraits = MySqlPoolTraits;
    type Claim = MySqlClaim;

    fn has_transaction(&self) -> bool {
        self.is_in_transaction()
    }

    async fn claim(&mut self, request: &MySqlClaimRequest) -> Result<MySqlFound, Error> {
        // First, asks whether writes are held back until a COMMIT: the driver need not know of a transaction,
        // and one that it knows of need not exist.
        if !self.has_transaction()
            && let Some(mut found) = look_up_before_begin(self, request).await?
        {
            if matches!(found.lookup.lock, Lock::NotAsked) {
                found.lookup.lock = Lock::NoTransaction;
            }
            return Ok(found);
        }
        let looked = inside::look(self, request).await;
        inside::claim(self, request, looked).await
    }

    async fn look_up(&mut self, request: &MySqlClaimRequest) -> Result<MySqlFound, Error> {
        let look = match alone(self, sql::look_up(request)).await {
            Ok(rows) => Look::at(last(rows)?)?,
            Err(error) => return Err(error::table_error(error, &request.table)),
        };
        if look.is_own_claim()? {
            let mut found = seen_nothing(request, Lock::NotAsked);
            found.lookup.now = look.now;
            return Ok(found);
        }
        read_lookup(request, &look)
    }

    async fn verify(&mut self, claim: &MySqlHeldClaim) -> Result<(), Error> {
        let table = &claim.request.table;
        let database_path = claim.dialect.database_path.as_deref();
        let path = verify::table(self, table, database_path).await?;
        if let Some(address) = claim.request.pool_traits.address {
            verify::remember_path(address, table, &path);
        }
        Ok(())
    }

    async fn findings(&mut self, claim: &MySqlHeldClaim) -> Result<Vec<SchemaFinding>, Error> {
        verify::findings(self, &claim.request.table).await
    }

    async fn set_savepoint(&mut self, claim: &MySqlHeldClaim, _: bool) -> Result<(), Error> {
        // Claiming has set the savepoint, unless it only read: a reclaimable record is ours to replace once its
        // row is locked.
        if claim.dialect.placeholder || claim.dialect.locked {
            return Ok(());
        }
        match rows(self, sql::take_row(&claim.request)).await {
            Ok(rows) => row::stands(&last(rows)?),
            Err(error) if error::is_locked(&error) => Err(Error::in_flight(DEFAULT_RETRY_AFTER)),
            Err(error) => Err(error::table_error(error, &claim.request.table)),
        }
    }

    async fn release_savepoint(
        &mut self,
        claim: &MySqlHeldClaim,
        body_writes: BodyWrites,
    ) -> Result<(), Error> {
        record::release(self, claim, body_writes).await
    }

    async fn write(
        &mut self,
        claim: &MySqlHeldClaim,
        record: &NewRecord<'_>,
    ) -> Result<Written, Error> {
        record::write(self, claim, record).await
    }

    async fn record(
        &mut self,
        claim: &MySqlHeldClaim,
        record: &NewRecord<'_>,
        body_writes: BodyWrites,
    ) -> Result<Written, Error> {
        record::record(self, claim, record, body_writes).await
    }

    async fn release(&mut self, claim: MySqlHeldClaim) -> Result<(), Error> {
        self.release_savepoint(&claim, BodyWrites::Keep).await?;
        if !claim.dialect.placeholder {
            return Ok(());
        }
        match withdraw(self, &claim.request).await? {
            1 => Ok(()),
            _ => Err(Error::TransactionEnded),
        }
    }

    async fn withdraw(&mut self, request: &MySqlClaimRequest) -> Result<(), Error> {
        withdraw(self, request).await.map(drop)
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

async fn look(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
    text: String,
) -> Result<Look, Error> {
    match rows(conn, text).await {
        Ok(rows) => Look::at(last(rows)?),
        Err(error) => Err(error::table_error(error, &request.table)),
    }
}

/// Looks the record up outside any transaction; returns `None` if one is open.
async fn look_up_before_begin(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
) -> Result<Option<MySqlFound>, Error> {
    look_up_outside(conn, request, sql::look_up_before_begin(request)).await
}

/// Looks up by a message that begins no transaction, or ends it.
async fn look_up_outside(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
    text: String,
) -> Result<Option<MySqlFound>, Error> {
    let error = match rows(conn, text).await {
        Ok(mut rows) => {
            return match rows.pop() {
                Some(row) => read_lookup(request, &Look::at(row)?).map(Some),
                None => Ok(Some(seen_nothing(request, Lock::NotAsked))),
            };
        }
        Err(error) if error::is_in_transaction(&error) => return Ok(None),
        Err(error) => error,
    };
    // The rest of the message was not run: the isolation level still waits for the next transaction, and a
    // transaction is open if autocommit is off.
    conn.execute(sql::END).await.map_err(error::map_error)?;
    if error::is_locked(&error) {
        return Ok(Some(refused(request)));
    }
    if error::is_under_lock_tables(&error) {
        // The session has used LOCK TABLES: beginning a transaction ends it.
        return Ok(None);
    }
    Err(error::table_error(error, &request.table))
}

/// Returns the newest record of an identity that has one, by a locking read of that row alone.
async fn newest(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
) -> Result<MySqlFound, Error> {
    read_lookup(
        request,
        &look(conn, request, sql::look_shared(request)).await?,
    )
}

/// Reads the finding of a look-up.
fn read_lookup(request: &MySqlClaimRequest, look: &Look) -> Result<MySqlFound, Error> {
    let mut found = seen_nothing(request, Lock::NotAsked);
    found.lookup.record = row::record(&look.row)?;
    found.lookup.now = look.now;
    let path = verify::database_path(&look.row);
    found.claim.dialect.database_path = (!path.is_empty()).then_some(path);
    Ok(found)
}
