//! MySQL and MariaDB: a placeholder whose row lock is the claim, and the primary key behind it.
//!
//! Order of a fresh run: a look without a transaction, by a locking read that does not wait; BEGIN;
//! INSERT of a placeholder (status 0) without waiting, and SAVEPOINT; body; RELEASE; UPDATE of the
//! placeholder to the record; COMMIT. Whoever else inserts meanwhile meets the row's lock.
//!
//! The **ownership check** is the savepoint, named after the attempt: whatever ends the transaction ends it
//! (COMMIT, ROLLBACK, a statement that commits implicitly as all DDL does, a deadlock that rolled
//! all back), and then no record is written. A placeholder that was committed so stands there with
//! a status that no record has: an error to all who come after, and never a fresh key, because what
//! the body did until then is committed as well.
//!
//! What may happen between any two statements, and an answer that is lost at any:
//!
//! - after the look: another attempt claims, and the INSERT meets its lock or its record; or it was a purge
//!   that has the lock, or another key's neighbour. Ask again.
//! - after BEGIN, the INSERT, the SAVEPOINT: nothing that others could see; the session's end rolls
//!   back. Galera may undo the transaction without an error: what claims asks last whether one is open.
//! - in the body: anything. The savepoint tells.
//! - after RELEASE or the UPDATE: nothing of ours comes between them and COMMIT.
//! - at COMMIT: asked on another connection, by a claim of its own: it is in flight as long as the
//!   old session holds the row, and then there is a record, which names its attempt, or none.

mod claim;
mod create;
mod error;
mod in_sync;
mod lease;
mod message;
mod placeholder;
mod purge;
mod row;
pub(crate) mod sql;
mod unit;
mod verify;

use sqlx::mysql::MySqlConnection;
use sqlx::{Connection as _, Executor as _, Row as _};

use self::claim::{
    MySqlClaim, MySqlClaimRequest, MySqlFound, MySqlHeldClaim, refused, seen_nothing,
};
use self::message::{alone, clock, fits, last, rows};
use self::placeholder::{insert, withdraw};
use self::row::Look;
use super::session::{BodyWrites, NewRecord, Purgeable, Session, Written, sealed::Sealed};
use crate::decision::Lock;
use crate::values::error::{Error, SchemaFinding};
use crate::values::policy::DEFAULT_RETRY_AFTER;

impl Sealed for MySqlConnection {}

impl Session for MySqlConnection {
    type PoolTraits = ();
    type Claim = MySqlClaim;

    fn has_transaction(&self) -> bool {
        self.is_in_transaction()
    }

    async fn claim(&mut self, request: &MySqlClaimRequest) -> Result<MySqlFound, Error> {
        // First, whether what is written now is held back until a COMMIT: the driver need not know
        // of a transaction, nor need one be there that it knows of.
        if !self.has_transaction()
            && let Some(mut found) = look_up_before_begin(self, request).await?
        {
            if matches!(found.lookup.lock, Lock::NotAsked) {
                found.lookup.lock = Lock::NoTransaction;
            }
            return Ok(found);
        }
        // And a mere look: an INSERT that fails for a record that is there would lock the gap
        // before it too.
        let statements = format!("{}; {}", sql::CHECK_TRANSACTION, sql::look_up(request));
        let look = match rows(self, statements).await {
            Ok(rows) => Look::at(last(rows)?)?,
            Err(error) if error::is_no_savepoint(&error) => {
                return Ok(seen_nothing(request, Lock::NoTransaction));
            }
            Err(error) => return Err(error::table_error(error, &request.table)),
        };
        row::stands(&look.row)?;
        if look.is_own_claim()? {
            return Ok(seen_nothing(request, Lock::Nested));
        }
        let claimed = if look.is_there()? {
            newest(self, request).await
        } else {
            insert(self, request).await
        };
        match claimed {
            Err(Error::Busy(error)) if error::is_locked(error.as_sqlx()) => {
                // `innodb_rollback_on_timeout` takes more than the statement.
                match self.execute(sql::CHECK_TRANSACTION).await {
                    Ok(_) => Ok(refused(request)),
                    Err(_) => Err(Error::TransactionLost(error)),
                }
            }
            claimed => claimed,
        }
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
        let database_path = claim.dialect.database_path.as_deref();
        verify::table(self, &claim.request.table, database_path).await
    }

    async fn findings(&mut self, claim: &MySqlHeldClaim) -> Result<Vec<SchemaFinding>, Error> {
        verify::findings(self, &claim.request.table).await
    }

    async fn set_savepoint(&mut self, claim: &MySqlHeldClaim, _: bool) -> Result<(), Error> {
        // Claiming has set the savepoint, unless it only read: a reclaimable record is ours to replace
        // once its row is.
        if claim.dialect.placeholder || claim.dialect.locked {
            return Ok(());
        }
        match rows(self, sql::take_row(&claim.request)).await {
            Ok(rows) => row::stands(&last(rows)?),
            Err(error) if error::is_locked(&error) => Err(Error::InFlight {
                retry_after: DEFAULT_RETRY_AFTER,
            }),
            Err(error) => Err(error::table_error(error, &claim.request.table)),
        }
    }

    async fn release_savepoint(
        &mut self,
        claim: &MySqlHeldClaim,
        body_writes: BodyWrites,
    ) -> Result<(), Error> {
        match in_sync::send(self, &sql::release_savepoint(&claim.request, body_writes)).await {
            Ok(()) => Ok(()),
            Err(error) if in_sync::is_lost(&error) => Err(Error::StatementUnfinished(error.into())),
            // What a body commits leaves its claim for all to see. If that is gone too, everything was
            // rolled back: by a deadlock, by habit, that the body took for a failure of its own.
            Err(error)
                if body_writes == BodyWrites::Discard
                    && error::is_no_savepoint(&error)
                    && claim.dialect.placeholder =>
            {
                let left = look(self, &claim.request, sql::look_up(&claim.request)).await?;
                if left.is_claim_of(&claim.request)? {
                    Err(Error::TransactionEnded)
                } else {
                    Err(Error::TransactionLost(error.into()))
                }
            }
            Err(error) => Err(error::map_error(error)),
        }
    }

    async fn write(
        &mut self,
        claim: &MySqlHeldClaim,
        record: &NewRecord<'_>,
    ) -> Result<Written, Error> {
        let rows = match rows(self, sql::write(&claim.request, record)).await {
            Ok(rows) => rows,
            Err(error) if error::is_missing(&error) => {
                // The table is not where it was: the body moved to another database, or dropped it. Or a
                // trigger's own is missing, and the claim is still there.
                let left = look(self, &claim.request, sql::look_up(&claim.request)).await;
                return match left.map(|left| left.is_claim_of(&claim.request)) {
                    Ok(Ok(true)) => Err(Error::Database(error.into())),
                    _ => Err(Error::TransactionEnded),
                };
            }
            Err(error) => return Err(error::map_error(error)),
        };
        // Nor is the row that this transaction holds.
        let Some(row) = rows.last() else {
            return Err(Error::TransactionEnded);
        };
        let says = |column: &str| row.try_get::<i64, _>(column).map_err(error::map_error);
        match (says("ours")?, says("whole")?) {
            (_, 1) => Ok(Written::Done),
            (1, _) => Err(Error::RecordNotWritten),
            _ => Ok(Written::Conflict),
        }
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

/// The look outside any transaction; `None` if one is open.
async fn look_up_before_begin(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
) -> Result<Option<MySqlFound>, Error> {
    let error = match rows(conn, sql::look_up_before_begin(request)).await {
        Ok(rows) => return read_lookup(request, &Look::at(last(rows)?)?).map(Some),
        Err(error) if error::is_in_transaction(&error) => return Ok(None),
        Err(error) => error,
    };
    // The rest of the message was not run: the isolation still waits for the next transaction, and
    // where autocommit is off one is open.
    conn.execute(sql::END).await.map_err(error::map_error)?;
    if error::is_locked(&error) {
        return Ok(Some(refused(request)));
    }
    if error::is_under_lock_tables(&error) {
        // Somebody's LOCK TABLES: beginning a transaction ends it.
        return Ok(None);
    }
    Err(error::table_error(error, &request.table))
}

/// The newest record of an identity that has one, by a locking read of that row alone.
async fn newest(
    conn: &mut MySqlConnection,
    request: &MySqlClaimRequest,
) -> Result<MySqlFound, Error> {
    read_lookup(
        request,
        &look(conn, request, sql::look_shared(request)).await?,
    )
}

/// What a look-up has found.
fn read_lookup(request: &MySqlClaimRequest, look: &Look) -> Result<MySqlFound, Error> {
    let mut found = seen_nothing(request, Lock::NotAsked);
    found.lookup.record = row::record(&look.row)?;
    found.lookup.now = look.now;
    found.claim.dialect.database_path = Some(verify::database_path(&look.row));
    Ok(found)
}
