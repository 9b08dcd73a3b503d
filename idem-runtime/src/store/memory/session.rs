//! The contract of [`Session`], kept in memory.

use super::connection::{MemoryConnection, StagedClaim, Transaction};
use super::database::MemoryState;
use super::row::{MemoryKey, MemoryRow};
use crate::error::Error;
use crate::fast_check;
use crate::outcome::Lock;
use crate::store::session::{
    BodyWrites, ClaimLookup, ClaimRequest, HeldClaim, NewRecord, Purgeable, Session, Written,
    sealed::Sealed,
};

impl Sealed for MemoryConnection {}

impl Session for MemoryConnection {
    fn has_transaction(&self) -> bool {
        self.is_in_transaction()
    }

    async fn claim(&mut self, request: &ClaimRequest) -> Result<ClaimLookup, Error> {
        let mut state = self.database.lock();
        let lock = match &mut self.transaction {
            Some(transaction) => lock(transaction, &mut state, request),
            None => Lock::NoTransaction,
        };
        look(self.transaction.as_ref(), &state, request, lock)
    }

    async fn look_up(&mut self, request: &ClaimRequest) -> Result<ClaimLookup, Error> {
        let state = self.database.lock();
        look(self.transaction.as_ref(), &state, request, Lock::NotAsked)
    }

    async fn verify(&mut self, _: &HeldClaim) -> Result<(), Error> {
        Ok(())
    }

    async fn set_savepoint(&mut self, claim: &HeldClaim, may_discard: bool) -> Result<(), Error> {
        let transaction = self.transaction.as_mut().ok_or(Error::TransactionEnded)?;
        let before = may_discard.then(|| transaction.staged.clone());
        transaction.claim(claim.request.attempt_id)?.before = before;
        Ok(())
    }

    async fn release_savepoint(
        &mut self,
        claim: &HeldClaim,
        body_writes: BodyWrites,
    ) -> Result<(), Error> {
        let transaction = self.transaction.as_mut().ok_or(Error::TransactionEnded)?;
        let before = transaction.claim(claim.request.attempt_id)?.before.take();
        if let Some(before) = before.filter(|_| body_writes == BodyWrites::Discard) {
            transaction.staged = before;
        }
        Ok(())
    }

    async fn write(&mut self, claim: &HeldClaim, record: &NewRecord<'_>) -> Result<Written, Error> {
        let transaction = self.transaction.as_mut().ok_or(Error::TransactionEnded)?;
        let attempt_id = claim.request.attempt_id;
        let key = transaction.claim(attempt_id)?.key.clone();
        let state = self.database.lock();
        let now = state.now();
        let vacant = match (transaction.sees(&state, &key), record.replaces) {
            (None, None) => true,
            (Some(row), Some(replaced)) => row.attempt_id == replaced && row.is_reclaimable(now),
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !vacant {
            return Ok(Written::Conflict);
        }
        let row = MemoryRow::new(attempt_id, record, now);
        transaction.stage(&state, key, Some(row));
        Ok(Written::Done)
    }

    async fn release(&mut self, claim: HeldClaim) -> Result<(), Error> {
        let transaction = self.transaction.as_mut().ok_or(Error::TransactionEnded)?;
        let attempt_id = claim.request.attempt_id;
        transaction.claim(attempt_id)?;
        transaction
            .claims
            .retain(|claim| claim.attempt_id != attempt_id);
        Ok(())
    }

    async fn purge(&mut self, table: &str, which: Purgeable, limit: u32) -> Result<u64, Error> {
        let mut state = self.database.lock();
        let now = state.now();
        let own = self.transaction.as_ref().map(|transaction| transaction.id);
        let mut purged: Vec<_> = state
            .rows
            .iter()
            .filter(|(key, row)| key.table == table && row.is_purged(which, now))
            .filter(|(key, _)| state.locks.get(key).is_none_or(|id| Some(*id) == own))
            .filter(|(key, _)| {
                let staged = self.transaction.as_ref().map(|own| &own.staged);
                staged.is_none_or(|staged| !staged.contains_key(key))
            })
            .map(|(key, row)| (row.expires_at.or(row.locked_until), key.clone()))
            .collect();
        purged.sort_unstable();
        purged.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let count = purged.len() as u64;
        for (_, key) in purged {
            if let Some(transaction) = &mut self.transaction {
                state.locks.insert(key.clone(), transaction.id);
                transaction.stage(&state, key, None);
            } else {
                state.rows.remove(&key);
            }
        }
        Ok(count)
    }
}

/// Asks for the identity's lock; it is held to the end of the transaction, also by a claim given
/// back.
fn lock(transaction: &mut Transaction, state: &mut MemoryState, request: &ClaimRequest) -> Lock {
    let key = MemoryKey::of(request);
    if transaction.claims.iter().any(|claim| claim.key == key) {
        return Lock::Nested;
    }
    if fast_check::is_on() {
        let holder = *state.locks.entry(key.clone()).or_insert(transaction.id);
        if holder != transaction.id {
            return Lock::Refused;
        }
    }
    transaction.claims.push(StagedClaim {
        key,
        attempt_id: request.attempt_id,
        before: None,
    });
    Lock::Granted
}

pub(super) fn look(
    transaction: Option<&Transaction>,
    state: &MemoryState,
    request: &ClaimRequest,
    lock: Lock,
) -> Result<ClaimLookup, Error> {
    let key = MemoryKey::of(request);
    let row = match transaction {
        Some(transaction) => transaction.sees(state, &key),
        None => state.rows.get(&key).cloned(),
    };
    Ok(ClaimLookup {
        record: row.map(MemoryRow::record).transpose()?,
        lock,
        now: state.now(),
        table_oid: 0,
        snapshot: false,
        verified: true,
        placeholder: false,
        running: None,
        database_path: None,
    })
}
