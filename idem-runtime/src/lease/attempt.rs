//! What the body of a leased handler knows of its attempt.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};

use crate::error::Error;
use crate::identity::Identity;
use crate::record::AttemptId;

/// One attempt at an effect outside the database: the handle that the body of a leased handler gets.
///
/// Clones are handles to the same attempt, for tasks that the body starts.
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
    id: AttemptId,
    number: i32,
    life: watch::Sender<Life>,
    beats: mpsc::UnboundedSender<Beat>,
    in_doubt: AtomicBool,
}

/// What this process knows of the lease. By its own clock, and from before each request on: the
/// database's lease lasts at least as long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    pub(super) until: Instant,
    /// Whether it is another attempt's, or could not be kept. That its time is over shows by `until`.
    pub(super) is_lost: bool,
    /// When the next heartbeat is due.
    pub(super) due: Instant,
    /// When the last heartbeat that succeeded was sent.
    pub(super) given: Option<Instant>,
}

impl Life {
    fn is_over(&self) -> bool {
        self.is_lost || self.until <= Instant::now()
    }
}

/// A sign of life that the body asks for, and where it wants the answer.
pub(super) type Beat = oneshot::Sender<Result<(), Error>>;

impl Attempt {
    pub(super) fn new(
        identity: Identity,
        id: AttemptId,
        number: i32,
        until: Instant,
        beats: mpsc::UnboundedSender<Beat>,
    ) -> Self {
        let life = Life {
            until,
            is_lost: false,
            due: until,
            given: None,
        };
        Self {
            shared: Arc::new(Shared {
                identity,
                id,
                number,
                life: watch::Sender::new(life),
                beats,
                in_doubt: AtomicBool::new(false),
            }),
        }
    }

    /// Names this attempt: random, and the fencing token of every write after the claim.
    pub fn id(&self) -> AttemptId {
        self.shared.id
    }

    /// Which attempt of the key it is, from 1. Above 1, an earlier one was released or lapsed, and its
    /// effect may have happened in part.
    pub fn number(&self) -> i32 {
        self.shared.number
    }

    /// The key to give the external service: the same for every attempt of this key, made from
    /// namespace, scope and key, and telling nothing of them. 36 characters in the form of a UUID,
    /// fit for any provider's header.
    pub fn external_key(&self) -> String {
        self.shared.identity.external_key("")
    }

    /// As [`external_key`](Self::external_key), another for each of several external calls: a step's
    /// name must not change while attempts of its key may still come.
    pub fn external_key_for(&self, step: &str) -> String {
        self.shared.identity.external_key(step)
    }

    /// A sign of life, now: the lease lasts its whole length again. The library gives one at each
    /// third of the lease by itself; call this before a step that must not be begun on a lease that is
    /// somebody else's by now.
    ///
    /// # Errors
    /// [`Error::LeaseLost`]: stop, and begin no further effect. The database's, if it could not be
    /// asked; the lease is as it was.
    pub async fn heartbeat(&self) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        // Nobody gives signs of life for a run that is over, or lost.
        self.shared
            .beats
            .send(answer)
            .map_err(|_| Error::LeaseLost)?;
        answered.await.unwrap_or(Err(Error::LeaseLost))
    }

    /// For how long the lease is surely this attempt's; zero once it is lost.
    pub fn lease_left(&self) -> Duration {
        let life = *self.shared.life.borrow();
        if life.is_lost {
            Duration::ZERO
        } else {
            life.until.saturating_duration_since(Instant::now())
        }
    }

    /// Whether the lease is lost: another attempt has it, or its time is over without a sign of life
    /// that succeeded. It is true from the moment at which [`lease_left`](Self::lease_left) is zero.
    ///
    /// A process that stood still for longer than its lease may find it untouched: if the sign of life
    /// that follows succeeds, the lease is this attempt's again.
    pub fn is_lost(&self) -> bool {
        self.life().is_over()
    }

    /// Ready once the lease is lost: the signal to stop, for a `select!` around long work.
    pub async fn lost(&self) {
        let mut changes = self.shared.life.subscribe();
        loop {
            let life = *changes.borrow_and_update();
            if life.is_over() {
                return;
            }
            // An error would mean that the sender is gone, and this handle has it.
            let _ = timeout_at(life.until, changes.changed()).await;
        }
    }

    /// Says that the effect may have happened, and that the body cannot tell: if it now returns an
    /// `Err` that is not recorded, or panics, the outcome is *unknown* and waits for reconciliation, instead of
    /// being released for the next caller. Call it where the provider's answer is lost.
    pub fn outcome_unknown(&self) {
        self.shared.in_doubt.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_in_doubt(&self) -> bool {
        self.shared.in_doubt.load(Ordering::SeqCst)
    }

    pub(super) fn life(&self) -> Life {
        *self.shared.life.borrow()
    }

    /// A heartbeat that was sent then has succeeded.
    pub(super) fn live(&self, given: Instant, until: Instant, due: Instant) {
        self.shared.life.send_modify(|life| {
            (life.until, life.due) = (until, due);
            life.given = Some(given);
        });
    }

    /// The next heartbeat is due then.
    pub(super) fn due(&self, due: Instant) {
        self.shared.life.send_modify(|life| life.due = due);
    }

    pub(super) fn lose(&self) {
        self.shared.life.send_modify(|life| life.is_lost = true);
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("identity", &self.shared.identity)
            .field("id", &self.shared.id)
            .field("number", &self.shared.number)
            .field("life", &self.life())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{IdempotencyKey, Scope};

    fn attempt(until: Instant) -> Attempt {
        let key = "k".parse::<IdempotencyKey>().expect("a key");
        let identity = Identity::of_operation("mail", Scope::GLOBAL, key);
        let (beats, _) = mpsc::unbounded_channel();
        Attempt::new(identity, AttemptId::random(), 1, until, beats)
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
    async fn a_sign_of_life_that_comes_late_and_succeeds_makes_the_lease_the_attempts_again() {
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
