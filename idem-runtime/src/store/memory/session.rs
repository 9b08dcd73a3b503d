//! The contract of [`Session`], kept in memory.

use super::connection::{Claim, MemoryConnection, Transaction};
use super::database::State;
use super::row::{MemoryKey, MemoryRow};
use crate::error::Error;
use crate::fast_check;
use crate::outcome::Lock;
use crate::store::session::{Ask, Entry, Held, Seen, Session, Spent, Written, sealed::Sealed};

impl Sealed for MemoryConnection {}

impl Session for MemoryConnection {
    fn has_transaction(&self) -> bool {
        self.is_in_transaction()
    }

    async fn claim(&mut self, ask: &Ask) -> Result<Seen, Error> {
        let mut state = self.database.lock();
        let lock = match &mut self.transaction {
            Some(transaction) => lock(transaction, &mut state, ask),
            None => Lock::NoTransaction,
        };
        look(self.transaction.as_ref(), &state, ask, lock)
    }

    async fn look_up(&mut self, ask: &Ask) -> Result<Seen, Error> {
        let state = self.database.lock();
        look(self.transaction.as_ref(), &state, ask, Lock::NotAsked)
    }

    async fn verify(&mut self, _: &Held) -> Result<(), Error> {
        Ok(())
    }

    async fn mark(&mut self, held: &Held, undo: bool) -> Result<(), Error> {
        let transaction = self.transaction.as_mut().ok_or(Error::TransactionEnded)?;
        let before = undo.then(|| transaction.staged.clone());
        transaction.claim(held.ask.attempt_id)?.before = before;
        Ok(())
    }

    async fn unmark(&mut self, held: &Held, undo: bool) -> Result<(), Error> {
        let transaction = self.transaction.as_mut().ok_or(Error::TransactionEnded)?;
        let before = transaction.claim(held.ask.attempt_id)?.before.take();
        if let Some(before) = before.filter(|_| undo) {
            transaction.staged = before;
        }
        Ok(())
    }

    async fn write(&mut self, held: &Held, entry: &Entry<'_>) -> Result<Written, Error> {
        let transaction = self.transaction.as_mut().ok_or(Error::TransactionEnded)?;
        let attempt_id = held.ask.attempt_id;
        let key = transaction.claim(attempt_id)?.key.clone();
        let state = self.database.lock();
        let now = state.now();
        let vacant = match (transaction.sees(&state, &key), entry.replaces) {
            (None, None) => true,
            (Some(row), Some(spent)) => row.attempt_id == spent && row.is_spent(now),
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !vacant {
            return Ok(Written::Rival);
        }
        let row = MemoryRow::new(attempt_id, entry, now);
        transaction.stage(&state, key, Some(row));
        Ok(Written::Done)
    }

    async fn release(&mut self, held: Held) -> Result<(), Error> {
        let transaction = self.transaction.as_mut().ok_or(Error::TransactionEnded)?;
        let attempt_id = held.ask.attempt_id;
        transaction.claim(attempt_id)?;
        transaction
            .claims
            .retain(|claim| claim.attempt_id != attempt_id);
        Ok(())
    }

    async fn purge(&mut self, table: &str, which: Spent, limit: u32) -> Result<u64, Error> {
        let mut state = self.database.lock();
        let now = state.now();
        let own = self.transaction.as_ref().map(|transaction| transaction.id);
        let mut spent: Vec<_> = state
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
        spent.sort_unstable();
        spent.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let count = spent.len() as u64;
        for (_, key) in spent {
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
fn lock(transaction: &mut Transaction, state: &mut State, ask: &Ask) -> Lock {
    let key = MemoryKey::of(ask);
    if transaction.claims.iter().any(|claim| claim.key == key) {
        return Lock::Nested;
    }
    if fast_check::is_on() {
        let holder = *state.locks.entry(key.clone()).or_insert(transaction.id);
        if holder != transaction.id {
            return Lock::Refused;
        }
    }
    transaction.claims.push(Claim {
        key,
        attempt_id: ask.attempt_id,
        before: None,
    });
    Lock::Granted
}

pub(super) fn look(
    transaction: Option<&Transaction>,
    state: &State,
    ask: &Ask,
    lock: Lock,
) -> Result<Seen, Error> {
    let key = MemoryKey::of(ask);
    let row = match transaction {
        Some(transaction) => transaction.sees(state, &key),
        None => state.rows.get(&key).cloned(),
    };
    Ok(Seen {
        record: row.map(MemoryRow::record).transpose()?,
        lock,
        now: state.now(),
        place: 0,
        snapshot: false,
        verified: true,
        placeholder: false,
        running: None,
        home: None,
    })
}
