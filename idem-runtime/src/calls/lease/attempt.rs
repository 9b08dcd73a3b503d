//! The handle that the body of a leased handler gets.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use crate::values::error::Error;
use crate::values::identity::Identity;
use crate::values::key::IdempotencyKey;
use crate::values::record::AttemptId;

/// One attempt at an effect outside the database: the handle that the body of a leased handler
/// gets.
///
/// Clones refer to the same attempt; pass them to tasks that the body spawns.
///
/// ```
/// # #[cfg(all(feature = "macros", feature = "postgres"))]
/// # mod example {
/// use idem_runtime::{Attempt, IdempotencyKey, idempotent};
/// # #[derive(serde::Serialize)] struct Receipt { to: String }
/// # #[derive(Debug, thiserror::Error)]
/// # enum MailError { #[error(transparent)] Idempotency(#[from] idem_runtime::Error) }
/// # async fn hand_over(key: &str, receipt: &Receipt) -> Result<u64, MailError> { Ok(1) }
///
/// #[idempotent(namespace = "mail", lease = "5m", on_lapse = "retry")]
/// async fn send(attempt: &Attempt, key: &IdempotencyKey, receipt: Receipt) -> Result<u64, MailError> {
///     // The relay knows a second attempt by its key, and answers it as it answered the first.
///     hand_over(&attempt.external_key(), &receipt).await
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct Attempt {
    shared: Arc<Shared>,
}

struct Shared {
    identity: Identity,
    /// The key that the caller gave, if the identity has a hash of it.
    clear_key: Option<IdempotencyKey>,
    id: AttemptId,
    number: i32,
    lease_state: watch::Sender<LeaseState>,
    heartbeat_requests: mpsc::UnboundedSender<HeartbeatRequest>,
    in_doubt: AtomicBool,
}

/// What this process knows of the lease, by its own clock. Times count from before each statement
/// was sent, so the lease in the database lasts at least as long.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeaseState {
    pub(super) until: Instant,
    /// Whether another attempt owns the lease, or it could not be extended. A lease that has merely
    /// run out is recognised by `until`.
    pub(super) is_lost: bool,
    /// When the next heartbeat is due.
    pub(super) due: Instant,
    /// When the last successful heartbeat was sent.
    pub(super) given: Option<Instant>,
}

impl LeaseState {
    fn is_over(&self) -> bool {
        self.is_lost || self.until <= Instant::now()
    }
}

/// A heartbeat that the body requested, with the channel for its result.
pub(super) type HeartbeatRequest = oneshot::Sender<Result<(), Error>>;

impl Attempt {
    pub(super) fn new(
        (identity, clear_key): (Identity, Option<IdempotencyKey>),
        id: AttemptId,
        number: i32,
        until: Instant,
        heartbeat_requests: mpsc::UnboundedSender<HeartbeatRequest>,
    ) -> Self {
        let lease_state = LeaseState {
            until,
            is_lost: false,
            due: until,
            given: None,
        };
        Self {
            shared: Arc::new(Shared {
                identity,
                clear_key,
                id,
                number,
                lease_state: watch::Sender::new(lease_state),
                heartbeat_requests,
                in_doubt: AtomicBool::new(false),
            }),
        }
    }

    /// Returns the id of this attempt: random, and the fencing token of every write after the
    /// claim.
    pub fn id(&self) -> AttemptId {
        self.shared.id
    }

    /// Returns the number of this attempt of the key, from 1. If it is above 1, an earlier attempt
    /// was released or lapsed, and its effect may have happened in part.
    pub fn number(&self) -> i32 {
        self.shared.number
    }

    /// Returns the key that this is an attempt at, with its scope: to derive the keys of steps from
    /// ([`child`](IdempotencyKey::child)) where the body has no other, as under a
    /// [`TakeoverWorker`](crate::TakeoverWorker).
    pub fn key(&self) -> IdempotencyKey {
        let identity = &self.shared.identity;
        match &self.shared.clear_key {
            Some(key) => key.clone(),
            None => identity.key().clone().scoped(identity.scope().clone()),
        }
    }

    /// Returns the key to send to the external service. It is the same for every attempt of this
    /// key, and is a hash of namespace, scope and key that does not reveal them. It has 36
    /// characters in the form of a UUID, so that it fits the idempotency header of every provider.
    pub fn external_key(&self) -> String {
        self.shared.identity.external_key("")
    }

    /// Returns an external key as [`external_key`](Self::external_key) does, different for each
    /// `step`. Use it if the body makes several external calls. The name of a step must not change
    /// while further attempts of its key are possible.
    pub fn external_key_for(&self, step: &str) -> String {
        self.shared.identity.external_key(step)
    }

    /// Sends a heartbeat now: the lease then lasts its whole length again. The library sends one at
    /// each third of the lease. Call this before a step that must not start on a lost lease.
    ///
    /// # Errors
    /// - [`Error::LeaseLost`] if the lease is lost or the run is over: stop, and start no further
    ///   effect.
    /// - Any error of the database. The lease is then as it was before.
    pub async fn heartbeat(&self) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        // The receiver is gone if the run is over or the lease is lost.
        self.shared
            .heartbeat_requests
            .send(answer)
            .map_err(|_| Error::LeaseLost)?;
        answered.await.unwrap_or(Err(Error::LeaseLost))
    }

    /// Returns how long the lease is certain to remain this attempt's; zero if it is lost.
    pub fn lease_left(&self) -> Duration {
        let lease_state = *self.shared.lease_state.borrow();
        if lease_state.is_lost {
            Duration::ZERO
        } else {
            lease_state.until.saturating_duration_since(Instant::now())
        }
    }

    /// Returns whether the lease is lost: another attempt owns it, or it ran out without a
    /// successful heartbeat. Returns `true` from the moment at which
    /// [`lease_left`](Self::lease_left) returns zero.
    ///
    /// A process that was suspended for longer than its lease may find that no other attempt took
    /// it: if its next heartbeat succeeds, the lease is this attempt's again.
    pub fn is_lost(&self) -> bool {
        self.lease_state().is_over()
    }

    /// Waits until the lease is lost. Use it in a `select!` to stop long work.
    pub async fn lost(&self) {
        let mut changes = self.shared.lease_state.subscribe();
        loop {
            let lease_state = *changes.borrow_and_update();
            if lease_state.is_over() {
                return;
            }
            // An error would mean that the sender was dropped, but `self` owns it.
            let _ = timeout_at(lease_state.until, changes.changed()).await;
        }
    }

    /// Records that the effect may have happened and that the body cannot tell. If the body then
    /// panics, or returns an `Err` that is not recorded, the outcome becomes *unknown* and must be
    /// settled by hand; otherwise the key would be released for the next caller. Call it if the
    /// provider's answer was lost.
    pub fn outcome_unknown(&self) {
        self.shared.in_doubt.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_in_doubt(&self) -> bool {
        self.shared.in_doubt.load(Ordering::SeqCst)
    }

    pub(super) fn lease_state(&self) -> LeaseState {
        *self.shared.lease_state.borrow()
    }

    /// Stores a successful heartbeat that was sent at `given`.
    pub(super) fn live(&self, given: Instant, until: Instant, due: Instant) {
        self.shared.lease_state.send_modify(|lease_state| {
            (lease_state.until, lease_state.due) = (until, due);
            lease_state.given = Some(given);
        });
    }

    /// Sets when the next heartbeat is due.
    pub(super) fn due(&self, due: Instant) {
        self.shared
            .lease_state
            .send_modify(|lease_state| lease_state.due = due);
    }

    pub(super) fn lose(&self) {
        self.shared
            .lease_state
            .send_modify(|lease_state| lease_state.is_lost = true);
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("identity", &self.shared.identity)
            .field("id", &self.shared.id)
            .field("number", &self.shared.number)
            .field("lease_state", &self.lease_state())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::key::Scope;

    fn attempt(until: Instant) -> Attempt {
        let key = "k".parse::<IdempotencyKey>().expect("a key");
        let identity = Identity::of_operation("mail", Scope::GLOBAL, key);
        let (heartbeat_requests, _) = mpsc::unbounded_channel();
        Attempt::new(
            (identity, None),
            AttemptId::random(),
            1,
            until,
            heartbeat_requests,
        )
    }

    #[tokio::test]
    async fn a_lease_is_lost_as_soon_as_nothing_is_left_of_it() {
        let over = attempt(Instant::now());
        assert!(over.lease_left().is_zero() && over.is_lost());
        over.lost().await;
        let brief = attempt(Instant::now() + Duration::from_millis(5));
        brief.lost().await;
        assert!(brief.lease_left().is_zero() && brief.is_lost());
    }

    #[tokio::test]
    async fn a_heartbeat_that_comes_late_and_succeeds_makes_the_lease_the_attempts_again() {
        let late = attempt(Instant::now());
        assert!(late.is_lost());
        let (now, hour) = (Instant::now(), Duration::from_hours(1));
        late.live(now, now + hour, now + hour / 3);
        assert!(!late.is_lost() && late.lease_left() > hour / 2);
        late.lose();
        assert!(late.is_lost() && late.lease_left().is_zero());
        late.lost().await;
    }
}
