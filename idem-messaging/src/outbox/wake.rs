//! The hint that there may soon be something to publish.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Wakes the relays of this process that share it.
///
/// An append cannot see the COMMIT of its transaction: the transaction is its caller's. So the hint comes early, and
/// the relay asks after 1 ms, then after twice the time, and so on up to its idle interval. It thereby finds the event
/// after at most about twice the time from the append to the COMMIT. A hint that is lost delays the event until the
/// next poll.
#[derive(Clone, Debug, Default)]
pub(super) struct Wake(Arc<Notify>);

impl Wake {
    pub(super) fn wake(&self) {
        // A permit is kept for a relay that does not wait at this moment; the others ask at their interval.
        self.0.notify_one();
    }

    pub(super) async fn woken(&self) {
        self.0.notified().await;
    }
}

/// What one relay hears of appends in other processes: a hint that comes after the COMMIT, unlike [`Wake`]'s.
#[derive(Debug, Default)]
pub struct Ears {
    heard: Notify,
    is_listening: AtomicBool,
}

impl Ears {
    /// Says that something was committed.
    #[cfg(feature = "postgres")]
    pub(super) fn hear(&self) {
        self.heard.notify_one();
    }

    /// Says whether [`hear`](Self::hear) is called from now on for what is committed.
    #[cfg(feature = "postgres")]
    pub(super) fn set_listening(&self, is_listening: bool) {
        self.is_listening.store(is_listening, Ordering::SeqCst);
    }

    pub(super) fn is_listening(&self) -> bool {
        self.is_listening.load(Ordering::SeqCst)
    }

    pub(super) async fn heard(&self) {
        self.heard.notified().await;
    }
}
