//! What the body of a leased handler knows of its attempt.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

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
    pub(super) is_lost: bool,
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

    /// Whether the lease is lost: another attempt has it, or the database could not be reached for its
    /// whole length.
    pub fn is_lost(&self) -> bool {
        self.shared.life.borrow().is_lost
    }

    /// Ready once the lease is lost: the signal to stop, for a `select!` around long work.
    pub async fn lost(&self) {
        let mut life = self.shared.life.subscribe();
        // An error would mean that the sender is gone, and this handle has it.
        let _ = life.wait_for(|life| life.is_lost).await;
    }

    /// Says that the effect may have happened, and that the body cannot tell: if it now returns an
    /// `Err` that is not recorded, the outcome is *unknown* and waits for reconciliation, instead of
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

    pub(super) fn live(&self, until: Instant) {
        self.shared.life.send_modify(|life| life.until = until);
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
