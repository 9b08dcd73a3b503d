//! What all connections share: the records, the locks and the clock.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::connection::MemoryConnection;
use super::row::{MemoryKey, MemoryRow};
use crate::record::Timestamp;

/// A database in memory. Clones are handles to the same one; it is gone with the last of them.
#[derive(Clone, Default)]
pub struct MemoryDatabase {
    shared: Arc<Mutex<MemoryState>>,
}

impl fmt::Debug for MemoryDatabase {
    /// Shows no row.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryDatabase").finish_non_exhaustive()
    }
}

#[derive(Default)]
pub(super) struct MemoryState {
    /// What is committed.
    pub(super) rows: BTreeMap<MemoryKey, MemoryRow>,
    /// Which transaction holds an identity.
    pub(super) locks: HashMap<MemoryKey, u64>,
    /// How many transactions have begun.
    pub(super) begun: u64,
    /// How far a test has moved the clock.
    ahead: Duration,
}

impl MemoryState {
    pub(super) fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .saturating_add(self.ahead);
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

impl MemoryDatabase {
    /// An empty database.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new connection, outside any transaction.
    pub fn connect(&self) -> MemoryConnection {
        MemoryConnection::new(self.clone())
    }

    /// The database's clock.
    pub fn now(&self) -> Timestamp {
        self.lock().now()
    }

    /// Moves the database's clock forward, for all connections. It never goes back.
    pub fn advance(&self, by: Duration) {
        let mut state = self.lock();
        state.ahead = state.ahead.saturating_add(by);
    }

    /// The committed records, by key.
    pub fn rows(&self) -> Vec<(MemoryKey, MemoryRow)> {
        let rows = &self.lock().rows;
        rows.iter()
            .map(|(key, row)| (key.clone(), row.clone()))
            .collect()
    }

    /// Writes a record past all checks, for a test that needs one which no attempt would leave.
    pub fn insert(&self, key: MemoryKey, row: MemoryRow) {
        self.lock().rows.insert(key, row);
    }

    /// Deletes every committed record.
    pub fn clear(&self) {
        self.lock().rows.clear();
    }

    /// Changes the committed records past all checks: to age them, or to store what no build would.
    pub fn edit(&self, mut change: impl FnMut(&MemoryKey, &mut MemoryRow)) {
        for (key, row) in &mut self.lock().rows {
            change(key, row);
        }
    }

    /// A panic of another test's thread leaves whole rows: nothing here is changed in steps.
    pub(super) fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
