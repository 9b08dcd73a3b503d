//! The keys that run in this process: a fast check for databases without a lock to try.
//!
//! It only makes the common case fast. Without it the database still arbitrates.

use std::collections::HashMap;
use std::ptr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use sqlx::sqlite::SqliteConnection;

use super::error;
use crate::values::error::Error;
use crate::values::identity::LockKey;

static RUNNING: LazyLock<Mutex<HashMap<KeyInDatabase, Runner>>> = LazyLock::new(Mutex::default);

/// The number of entries for which room is always kept.
const ROOM: usize = 1024;

/// The identity and its database. The lock key covers table, namespace, scope and key.
type KeyInDatabase = (Arc<str>, LockKey);

/// The connection that runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    /// The address of the connection, for an entry that is dropped before the borrow of the connection ends: until then
    /// the connection stays there.
    Borrowed(usize),
    /// The address of the driver's handle, for any other: no two living connections share one. To ask for it costs
    /// as much as a statement.
    Handle(usize),
}

impl Runner {
    pub(super) fn borrowed(conn: &SqliteConnection) -> Self {
        Self::Borrowed(ptr::from_ref(conn).addr())
    }

    pub(super) async fn handle(conn: &mut SqliteConnection) -> Result<Self, Error> {
        let mut handle = conn.lock_handle().await.map_err(error::map_error)?;
        Ok(Self::Handle(handle.as_raw_handle().addr().get()))
    }
}

/// The right to run one identity in this process, given back on drop.
#[derive(Debug)]
pub struct RunningKey {
    key: KeyInDatabase,
}

impl RunningKey {
    /// Enters the identity, unless it is entered already: then returns who runs it.
    pub(super) fn enter(
        database: Arc<str>,
        lock_key: LockKey,
        runner: Runner,
    ) -> Result<Self, Runner> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (database, lock_key);
        if let Some(holder) = running.get(&key) {
            return Err(*holder);
        }
        running.insert(key.clone(), runner);
        Ok(Self { key })
    }
}

/// Returns whether the identity is entered.
pub(super) fn is_entered(database: &Arc<str>, lock_key: LockKey) -> bool {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.contains_key(&(Arc::clone(database), lock_key))
}

impl Drop for RunningKey {
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.key);
        // Keeps no more room than a few times the number of running keys.
        let room = ROOM.max(2 * running.len());
        if running.capacity() > 4 * room {
            running.shrink_to(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::identity::Identity;
    use crate::values::key::{IdempotencyKey, Scope};

    fn lock_key(key: &str) -> LockKey {
        let key = IdempotencyKey::parse(Some(key)).unwrap().unwrap();
        Identity::of_operation("running", Scope::GLOBAL, key).lock_key("t")
    }

    const A: Runner = Runner::Handle(1);
    const B: Runner = Runner::Borrowed(1);

    fn enter(database: &str, lock_key: LockKey, runner: Runner) -> Result<RunningKey, Runner> {
        RunningKey::enter(database.into(), lock_key, runner)
    }

    #[test]
    fn one_runner_at_a_time_and_the_next_after_its_drop() {
        let first = enter("db", lock_key("a"), A).unwrap();
        assert_eq!(enter("db", lock_key("a"), B).unwrap_err(), A);
        assert_eq!(enter("db", lock_key("a"), A).unwrap_err(), A);
        drop(first);
        assert!(enter("db", lock_key("a"), B).is_ok());
    }

    #[test]
    fn no_more_is_kept_than_runs() {
        let many: Vec<_> = (0..16 * ROOM)
            .map(|n| enter("many", lock_key(&n.to_string()), A).unwrap())
            .collect();
        drop(many);
        let running = RUNNING.lock().unwrap();
        assert!(!running.keys().any(|(database, _)| &**database == "many"));
        assert!(running.capacity() <= 8 * ROOM, "{}", running.capacity());
    }

    #[test]
    fn other_keys_and_other_databases_are_not_in_the_way() {
        let _first = enter("db", lock_key("b"), A).unwrap();
        assert!(enter("db", lock_key("c"), A).is_ok());
        assert!(enter("other", lock_key("b"), B).is_ok());
    }
}
