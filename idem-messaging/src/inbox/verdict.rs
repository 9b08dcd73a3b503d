//! What a broker is told about a delivery.

use std::fmt;
use std::time::Duration;

use uuid::Uuid;

/// What a broker is told about a delivery. [`Policy::verdict`](super::Policy::verdict) gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "the broker must be told"]
pub enum Verdict {
    /// Acknowledge: the effect is committed, by this delivery or by an earlier one, or the failure is recorded and the
    /// policy acknowledges those.
    Ack,
    /// Deliver again, not before `after` has passed.
    Retry {
        /// The least time until the next delivery.
        after: Duration,
        /// How many attempts are used up now; for
        /// [`Delivery::with_attempts`](super::Delivery::with_attempts) of the next delivery.
        attempts: u32,
    },
    /// Set aside with its reason: no retry can mend it, or the attempts are used up.
    DeadLetter {
        /// Why.
        reason: DeadLetterReason,
        /// What happened, in a sentence. The text of a handler's own error is part of it.
        detail: String,
    },
    /// Set aside until somebody has settled the outcome, and deliver again then. The reason is
    /// [`Verdict::OUTCOME_UNKNOWN`].
    Park {
        /// The attempt whose outcome is unknown; its record carries it.
        attempt_id: Uuid,
        /// What happened, in a sentence.
        detail: String,
    },
    /// Deliver again, and fetch nothing until `after` has passed: nobody can be served now. No attempt is used up.
    Pause {
        /// The least time until the consumer fetches again, and until the next delivery.
        after: Duration,
        /// What happened, in a sentence.
        detail: String,
    },
}

impl Verdict {
    /// The reason under which a message is parked, for a header and for metrics.
    pub const OUTCOME_UNKNOWN: &'static str = "outcome_unknown";

    /// Returns the verdict in a word, for logs and metrics: `ack`, `retry`, `dead_letter`, `park` or `pause`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ack => "ack",
            Self::Retry { .. } => "retry",
            Self::DeadLetter { .. } => "dead_letter",
            Self::Park { .. } => "park",
            Self::Pause { .. } => "pause",
        }
    }
}

/// Why a message is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadLetterReason {
    /// The message cannot be handled as it is: it has no id, or its payload does not decode.
    /// [`MessageError`](super::MessageError) says what.
    Refused,
    /// The handler failed for good.
    PermanentFailure,
    /// The handler failed as often as the policy allows.
    AttemptsUsedUp,
    /// A message with this id was handled before, with another type or payload: its producer gave two messages one id.
    Mismatch,
    /// Another operation handled this message in the same namespace: two consumers share one.
    SharedNamespace,
    /// The handler ended its transaction by itself. A retry could repeat what it has committed.
    TransactionEnded,
}

impl DeadLetterReason {
    #[cfg(feature = "metrics")]
    pub(super) const ALL: [Self; 6] = [
        Self::Refused,
        Self::PermanentFailure,
        Self::AttemptsUsedUp,
        Self::Mismatch,
        Self::SharedNamespace,
        Self::TransactionEnded,
    ];

    /// Returns the reason in a word, for a header and for metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::PermanentFailure => "permanent_failure",
            Self::AttemptsUsedUp => "attempts_used_up",
            Self::Mismatch => "mismatch",
            Self::SharedNamespace => "shared_namespace",
            Self::TransactionEnded => "transaction_ended",
        }
    }
}

impl fmt::Display for DeadLetterReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
