//! The keys that this process has lately found recorded or in flight.
//!
//! A retry of such a key is most likely answered without running a body, so it looks the record up before it
//! begins a transaction. The memory only steers: a key that is in it without a reason costs one look-up, and a
//! key that is not in it is claimed as any other.

use std::collections::HashSet;
use std::mem;
use std::sync::{Mutex, PoisonError};

use crate::values::identity::LockKey;

/// The number of keys that are remembered at least: 4,096. At most there are twice as many.
const CAPACITY: usize = 4096;

/// A key of one database, as far as its pool's options tell databases apart.
type RecentKey = (u64, LockKey);

static RECENT: Mutex<Option<Recent>> = Mutex::new(None);

/// Two generations of keys. When the younger one is full, the older one is forgotten.
#[derive(Default)]
struct Recent {
    young: HashSet<RecentKey>,
    old: HashSet<RecentKey>,
}

impl Recent {
    fn insert(&mut self, key: RecentKey) {
        if self.young.insert(key) && self.young.len() >= CAPACITY {
            self.old = mem::take(&mut self.young);
        }
    }

    fn contains(&self, key: RecentKey) -> bool {
        self.young.contains(&key) || self.old.contains(&key)
    }
}

/// Remembers a key that was found recorded or in flight.
pub(super) fn insert(database: u64, lock_key: LockKey) {
    if is_on() {
        let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        recent.get_or_insert_default().insert((database, lock_key));
    }
}

/// Returns whether a key is remembered.
pub(super) fn contains(database: u64, lock_key: LockKey) -> bool {
    let recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    is_on()
        && recent
            .as_ref()
            .is_some_and(|recent| recent.contains((database, lock_key)))
}

#[cfg(feature = "test-switches")]
mod switch {
    use std::sync::atomic::{AtomicBool, Ordering};

    static ON: AtomicBool = AtomicBool::new(true);

    /// Turns the memory of this process on or off. While it is off, each call is made as in a process that has
    /// not seen its key.
    pub fn set(on: bool) {
        ON.store(on, Ordering::SeqCst);
    }

    pub(super) fn is_on() -> bool {
        ON.load(Ordering::SeqCst)
    }
}

#[cfg(feature = "test-switches")]
use self::switch::is_on;
#[cfg(feature = "test-switches")]
pub use self::switch::set;

#[cfg(not(feature = "test-switches"))]
const fn is_on() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::identity::Identity;
    use crate::values::key::{IdempotencyKey, Scope};

    fn lock_key(number: usize) -> LockKey {
        let key = IdempotencyKey::parse(Some(&number.to_string()))
            .unwrap()
            .unwrap();
        Identity::of_operation("n", Scope::GLOBAL, key).lock_key("t")
    }

    #[test]
    fn the_last_4096_keys_are_remembered_and_never_more_than_twice_as_many() {
        let mut recent = Recent::default();
        for number in 0..3 * CAPACITY {
            recent.insert((0, lock_key(number)));
            assert!(recent.young.len() + recent.old.len() <= 2 * CAPACITY);
            let last = (number + 1).saturating_sub(CAPACITY);
            assert!(recent.contains((0, lock_key(last))));
        }
        assert!(!recent.contains((0, lock_key(0))));
        assert!(!recent.contains((1, lock_key(3 * CAPACITY - 1))));
    }
}
