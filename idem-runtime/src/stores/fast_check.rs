//! A test switch that disables the fast check, to prove that the database's unique constraint
//! decides.
//!
//! The fast check is an advisory lock on PostgreSQL and the table of running keys on SQLite. It
//! refuses most duplicates early; the guarantee does not depend on it. Without the feature
//! `test-switches` it is always on.

#[cfg(feature = "test-switches")]
mod switch {
    use std::sync::atomic::{AtomicBool, Ordering};

    static ON: AtomicBool = AtomicBool::new(true);

    /// Turns the fast check of this process on or off.
    pub fn set(on: bool) {
        ON.store(on, Ordering::SeqCst);
    }

    pub(crate) fn is_on() -> bool {
        ON.load(Ordering::SeqCst)
    }
}

#[cfg(feature = "test-switches")]
pub use self::switch::*;

#[cfg(not(feature = "test-switches"))]
pub(crate) const fn is_on() -> bool {
    true
}
