//! A connection and its transaction.

use std::collections::BTreeMap;
use std::fmt;

use super::database::{MemoryDatabase, MemoryState};
use super::row::{MemoryKey, MemoryRow};
use crate::error::Error;
use crate::record::AttemptId;

/// A connection to a [`MemoryDatabase`]. Dropped inside a transaction, it rolls back.
pub struct MemoryConnection {
    pub(super) database: MemoryDatabase,
    pub(super) transaction: Option<Transaction>,
}

impl fmt::Debug for MemoryConnection {
    /// Shows no row.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryConnection").finish_non_exhaustive()
    }
}

pub(super) struct Transaction {
    pub(super) id: u64,
    pub(super) staged: BTreeMap<MemoryKey, StagedChange>,
    pub(super) claims: Vec<StagedClaim>,
}

/// What a transaction will do to a record.
#[derive(Clone)]
pub(super) struct StagedChange {
    /// Whose record was committed there at the time; another one by COMMIT is another attempt's.
    pub(super) over: Option<AttemptId>,
    /// The new record; `None` deletes.
    pub(super) row: Option<MemoryRow>,
}

/// An attempt that this transaction has claimed for: the ownership check.
pub(super) struct StagedClaim {
    pub(super) key: MemoryKey,
    pub(super) attempt_id: AttemptId,
    /// What was staged at its mark, where that may have to be restored.
    pub(super) before: Option<BTreeMap<MemoryKey, StagedChange>>,
}

impl MemoryConnection {
    pub(super) fn new(database: MemoryDatabase) -> Self {
        Self {
            database,
            transaction: None,
        }
    }

    /// Whether a transaction is open.
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Begins a transaction. It reads what is committed at each moment, and its own writes.
    ///
    /// # Errors
    /// [`Error::AlreadyInTransaction`] inside one, which is then rolled back.
    pub fn begin(&mut self) -> Result<(), Error> {
        if self.transaction.is_some() {
            self.rollback()?;
            return Err(Error::AlreadyInTransaction);
        }
        let mut state = self.database.lock();
        state.begun += 1;
        self.transaction = Some(Transaction {
            id: state.begun,
            staged: BTreeMap::new(),
            claims: Vec::new(),
        });
        Ok(())
    }

    /// Makes the transaction's records everybody's, all of them or none, and gives its locks up.
    ///
    /// # Errors
    /// [`Error::NotInTransaction`] outside one; [`Error::FreshTransactionNeeded`] if another attempt's
    /// record stands where one of this transaction's would go: all of it is rolled back.
    pub fn commit(&mut self) -> Result<(), Error> {
        let transaction = self.transaction.take().ok_or(Error::NotInTransaction)?;
        let mut state = self.database.lock();
        unlock(&mut state, transaction.id);
        let committed = |key| state.rows.get(key).map(|row| row.attempt_id);
        if transaction
            .staged
            .iter()
            .any(|(key, change)| committed(key) != change.over)
        {
            return Err(Error::FreshTransactionNeeded);
        }
        for (key, change) in transaction.staged {
            match change.row {
                Some(row) => state.rows.insert(key, row),
                None => state.rows.remove(&key),
            };
        }
        Ok(())
    }

    /// Forgets what the transaction wrote, and gives its locks up.
    ///
    /// # Errors
    /// [`Error::NotInTransaction`] outside one.
    pub fn rollback(&mut self) -> Result<(), Error> {
        let transaction = self.transaction.take().ok_or(Error::NotInTransaction)?;
        unlock(&mut self.database.lock(), transaction.id);
        Ok(())
    }
}

impl Drop for MemoryConnection {
    fn drop(&mut self) {
        if self.transaction.is_some() {
            let _ = self.rollback();
        }
    }
}

impl Transaction {
    /// The claim of this attempt, if it was made here.
    pub(super) fn claim(&mut self, attempt_id: AttemptId) -> Result<&mut StagedClaim, Error> {
        self.claims
            .iter_mut()
            .find(|claim| claim.attempt_id == attempt_id)
            .ok_or(Error::TransactionEnded)
    }

    /// The record that this transaction sees.
    pub(super) fn sees(&self, state: &MemoryState, key: &MemoryKey) -> Option<MemoryRow> {
        match self.staged.get(key) {
            Some(change) => change.row.clone(),
            None => state.rows.get(key).cloned(),
        }
    }

    /// Stages a new record, or its deletion, over what is committed now.
    pub(super) fn stage(&mut self, state: &MemoryState, key: MemoryKey, row: Option<MemoryRow>) {
        let over = match self.staged.get(&key) {
            Some(earlier) => earlier.over,
            None => state.rows.get(&key).map(|row| row.attempt_id),
        };
        self.staged.insert(key, StagedChange { over, row });
    }
}

fn unlock(state: &mut MemoryState, transaction: u64) {
    state.locks.retain(|_, holder| *holder != transaction);
}
