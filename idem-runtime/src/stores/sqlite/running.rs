//! The keys that run in this process: a fast check for databases without a lock to try.
//!
//! It only makes the common case fast. Without it the database still arbitrates.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::values::identity::LockKey;

static RUNNING: LazyLock<Mutex<HashMap<KeyInDatabase, Runner>>> = LazyLock::new(Mutex::default);

/// The number of entries for which room is always kept.
const ROOM: usize = 1024;

/// The identity and its database. The lock key covers table, namespace, scope and key.
type KeyInDatabase = (String, LockKey);

/// The connection that runs it: an address that is unique while the connection lives.
type Runner = usize;

/// The right to run one identity in this process, given back on drop.
#[derive(Debug)]
pub struct RunningKey {
    key: KeyInDatabase,
}

/// Why an identity cannot run now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Another connection of this process runs it.
    Elsewhere,
    /// This connection runs it.
    Here,
}

impl RunningKey {
    /// Enters the identity, unless it is entered already.
    pub(crate) fn enter(
        database: &str,
        lock_key: LockKey,
        runner: Runner,
    ) -> Result<Self, Refused> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (database.to_owned(), lock_key);
        match running.get(&key) {
            Some(&other) if other == runner => Err(Refused::Here),
            Some(_) => Err(Refused::Elsewhere),
            None => {
                running.insert(key.clone(), runner);
                Ok(Self { key })
            }
        }
    }
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

    #[test]
    fn one_runner_at_a_time_and_the_next_after_its_drop() {
        let first = RunningKey::enter("db", lock_key("a"), 1).unwrap();
        assert_eq!(
            RunningKey::enter("db", lock_key("a"), 2).unwrap_err(),
            Refused::Elsewhere
        );
        assert_eq!(
            RunningKey::enter("db", lock_key("a"), 1).unwrap_err(),
            Refused::Here
        );
        drop(first);
        assert!(RunningKey::enter("db", lock_key("a"), 2).is_ok());
    }

    #[test]
    fn no_more_is_kept_than_runs() {
        let many: Vec<_> = (0..16 * ROOM)
            .map(|n| RunningKey::enter("many", lock_key(&n.to_string()), 1).unwrap())
            .collect();
        drop(many);
        let running = RUNNING.lock().unwrap();
        assert!(!running.keys().any(|(database, _)| database == "many"));
        assert!(running.capacity() <= 8 * ROOM, "{}", running.capacity());
    }

    #[test]
    fn other_keys_and_other_databases_are_not_in_the_way() {
        let _first = RunningKey::enter("db", lock_key("b"), 1).unwrap();
        assert!(RunningKey::enter("db", lock_key("c"), 1).is_ok());
        assert!(RunningKey::enter("other", lock_key("b"), 2).is_ok());
    }
}
