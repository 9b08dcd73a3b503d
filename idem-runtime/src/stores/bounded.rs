//! A process's memory for speed, bounded to a fixed number of entries.
//!
//! A forgotten entry is asked for again: nothing here decides an answer.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// The number of entries remembered of one kind: 1,024.
const CAPACITY: usize = 1024;

/// The values remembered, each under its key, the most recently used first.
#[derive(Debug)]
pub(super) struct Bounded<K, V> {
    entries: Mutex<VecDeque<(K, V)>>,
}

impl<K: PartialEq, V: Clone> Bounded<K, V> {
    pub(super) const fn new() -> Self {
        Self {
            entries: Mutex::new(VecDeque::new()),
        }
    }

    /// Returns the value of the first key that fits, if one is remembered.
    pub(super) fn find(&self, fits: impl Fn(&K) -> bool) -> Option<V> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let position = entries.iter().position(|(key, _)| fits(key))?;
        let entry = entries.remove(position)?;
        let value = entry.1.clone();
        entries.push_front(entry);
        Some(value)
    }

    /// Remembers a value. If there are too many, forgets the least recently used one.
    pub(super) fn insert(&self, key: K, value: V) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|(other, _)| *other != key);
        entries.truncate(CAPACITY - 1);
        entries.push_front((key, value));
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.entries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_remembered_than_fits_and_what_is_used_stays() {
        let known = Bounded::new();
        known.insert(0, "kept");
        for n in 1..3 * CAPACITY {
            known.insert(n, "other");
            assert_eq!(known.find(|key| *key == 0), Some("kept"));
            assert!(known.len() <= CAPACITY);
        }
        assert_eq!(known.find(|key| *key == 1), None);
        known.insert(0, "newer");
        assert_eq!(known.find(|key| *key == 0), Some("newer"));
        assert_eq!(known.len(), CAPACITY);
    }
}
