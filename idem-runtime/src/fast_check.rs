//! A switch for tests that take the fast check away, to show that the database's constraint is what
//! arbitrates.
//!
//! The fast check (an advisory lock on PostgreSQL, the table of running keys on SQLite) makes the
//! common case quick and is never what the guarantee rests on. Without the feature `test-switches`
//! there is no switch and it is on.

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
