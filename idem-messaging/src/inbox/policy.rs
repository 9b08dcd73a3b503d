//! Which verdict an answer gets.

use std::num::NonZeroU32;
use std::time::Duration;

use super::answer::Answer;
use super::backoff::Backoff;
use super::verdict::{DeadLetterReason, Verdict};

/// How often a message is tried, how long between two attempts, and what becomes of a permanent failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    attempts: NonZeroU32,
    backoff: Backoff,
    pause: Backoff,
    permanent: PermanentFailures,
}

/// What becomes of a message whose handler failed for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum PermanentFailures {
    /// It is set aside as dead, for somebody to look at.
    #[default]
    DeadLetter,
    /// It is acknowledged: its failure is recorded, and is an answer like another. Only for a handler that records its
    /// failures; of another one nothing would remain.
    Ack,
}

/// How often a message was tried, and how often its consumer has paused in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Tried {
    /// The attempts that earlier deliveries used up.
    pub attempts: u32,
    /// The pauses of the consumer since a message was last served.
    pub pauses: u32,
}

impl Policy {
    /// The default: 10 attempts, with waits of up to 1 second before the first retry and 5 minutes before later ones;
    /// pauses of up to 1 second at first and 30 seconds later; permanent failures are dead letters.
    pub const DEFAULT: Self = Self {
        attempts: NonZeroU32::new(10).expect("not zero"),
        backoff: Backoff::new(Duration::from_secs(1), Duration::from_mins(5)),
        pause: Backoff::new(Duration::from_secs(1), Duration::from_secs(30)),
        permanent: PermanentFailures::DeadLetter,
    };

    /// Sets how many errors of the handler's own make a message dead.
    #[must_use]
    pub fn with_attempts(self, attempts: NonZeroU32) -> Self {
        Self { attempts, ..self }
    }

    /// Sets the waits between the attempts at a message.
    #[must_use]
    pub fn with_backoff(self, backoff: Backoff) -> Self {
        Self { backoff, ..self }
    }

    /// Sets the pauses of the consumer while nobody can be served.
    #[must_use]
    pub fn with_pause(self, pause: Backoff) -> Self {
        Self { pause, ..self }
    }

    /// Sets what becomes of a message whose handler failed for good.
    #[must_use]
    pub fn with_permanent_failures(self, permanent: PermanentFailures) -> Self {
        Self { permanent, ..self }
    }

    /// Returns how many errors of the handler's own make a message dead. A broker's own limit of deliveries, if it has one,
    /// is a backstop and belongs far above it.
    pub const fn attempts(&self) -> NonZeroU32 {
        self.attempts
    }

    /// Returns the waits between the attempts at a message.
    pub fn backoff(&self) -> Backoff {
        self.backoff
    }

    /// Returns what becomes of a message whose handler failed for good.
    pub fn permanent_failures(&self) -> PermanentFailures {
        self.permanent
    }

    /// Returns what the broker is told about a delivery. `jitter` is a random number from 0 to 1.
    ///
    /// Only errors of the handler's own use up an attempt: [`Answer::Failed`] and [`Answer::Retry`].
    ///
    /// | answer | verdict |
    /// |---|---|
    /// | done, replayed | ack |
    /// | permanent | dead letter, or ack by choice |
    /// | failed, retry | retry by backoff, or as asked; at the last attempt dead letter |
    /// | in flight | retry as the library says; no attempt used up |
    /// | conflict, in doubt | retry by the first step of the backoff; no attempt used up |
    /// | unavailable | pause; no attempt used up |
    /// | outcome unknown | park |
    /// | refused, mismatch, shared namespace, transaction ended | dead letter |
    ///
    /// ```
    /// use idem_messaging::inbox::{Answer, Policy, Tried, Verdict};
    ///
    /// let failed = Answer::failed("no such case yet");
    /// let verdict = Policy::DEFAULT.verdict(&failed, Tried::default(), 0.5);
    /// assert!(matches!(verdict, Verdict::Retry { attempts: 1, .. }));
    /// ```
    pub fn verdict(&self, answer: &Answer, tried: Tried, jitter: f64) -> Verdict {
        let attempts = tried.attempts;
        let dead = |reason, detail: &str| Verdict::DeadLetter {
            reason,
            detail: detail.to_owned(),
        };
        match answer {
            Answer::Done | Answer::Replayed => Verdict::Ack,
            Answer::Permanent { .. } if self.permanent == PermanentFailures::Ack => Verdict::Ack,
            Answer::Permanent { detail } => dead(DeadLetterReason::PermanentFailure, detail),
            Answer::Refused { detail } => dead(DeadLetterReason::Refused, detail),
            Answer::Mismatch { detail } => dead(DeadLetterReason::Mismatch, detail),
            Answer::TransactionEnded { detail } => dead(DeadLetterReason::TransactionEnded, detail),
            Answer::SharedNamespace {
                recorded,
                submitted,
            } => Verdict::DeadLetter {
                reason: DeadLetterReason::SharedNamespace,
                detail: format!(
                    "operation `{recorded}` has handled this message in the namespace of `{submitted}`; \
                     nothing was written; give each consumer a namespace of its own"
                ),
            },
            Answer::Failed { detail } => {
                self.again(tried, detail, || self.backoff.wait(tried.attempts, jitter))
            }
            Answer::Retry { after, detail } => self.again(tried, detail, || *after),
            Answer::InFlight { retry_after } => Verdict::Retry {
                after: *retry_after,
                attempts,
            },
            Answer::Conflict { .. } | Answer::InDoubt { .. } => Verdict::Retry {
                after: self.backoff.wait(0, jitter),
                attempts,
            },
            Answer::Unavailable { detail } => Verdict::Pause {
                after: self.pause.wait(tried.pauses, jitter),
                detail: detail.clone(),
            },
            Answer::OutcomeUnknown { attempt_id } => Verdict::Park {
                attempt_id: *attempt_id,
                detail: format!(
                    "the outcome of attempt {attempt_id} is unknown; the message is parked, and comes again; settle the outcome"
                ),
            },
        }
    }

    /// Uses up an attempt.
    fn again(&self, tried: Tried, detail: &str, after: impl FnOnce() -> Duration) -> Verdict {
        let attempts = tried.attempts.saturating_add(1);
        if attempts < self.attempts.get() {
            return Verdict::Retry {
                after: after(),
                attempts,
            };
        }
        Verdict::DeadLetter {
            reason: DeadLetterReason::AttemptsUsedUp,
            detail: format!("attempt {attempts} of {}: {detail}", self.attempts),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}
