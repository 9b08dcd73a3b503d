//! A consumer: what it is called, what identifies its messages, who handles them, and what the broker is told.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::handler::OperationSpec;
use idem_runtime::policy::Failures;
use tracing::Instrument as _;

use super::answer::{Answer, AsAnswer as _};
use super::delivery::Delivery;
use super::handler::Handler;
use super::key::MessageKey;
use super::message::Message;
use super::policy::{PermanentFailures, Policy, Tried};
use super::refused::MessageError;
#[cfg(feature = "metrics")]
use super::verdict::DeadLetterReason;
use super::verdict::Verdict;
use super::window::{RedeliveryWindow, RetentionTooShort};
#[cfg(feature = "metrics")]
use crate::metrics;

/// A consumer of messages. Its name is the namespace of its handlers: two consumers of one event have a namespace each.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use idem_messaging::inbox::{Answer, AsAnswer, Consumer, Message, MessageError, MessageKey, Received};
/// use idem_runtime::handler::DescribeOperation as _;
/// use idem_runtime::{IdempotencyKey, idempotent};
/// use serde::{Deserialize, Serialize};
/// use sqlx::sqlite::{SqlitePool, SqliteTransaction};
///
/// #[derive(Serialize, Deserialize)]
/// struct CaseEscalated { case: i64 }
///
/// #[derive(Debug, thiserror::Error)]
/// enum NotifyError {
///     #[error(transparent)]
///     Message(#[from] MessageError),
///     #[error(transparent)]
///     Database(#[from] sqlx::Error),
///     #[error(transparent)]
///     Idempotency(#[from] idem_runtime::Error),
/// }
///
/// impl AsAnswer for NotifyError {
///     fn as_answer(&self) -> Answer {
///         match self {
///             Self::Message(error) => error.as_answer(),
///             Self::Database(error) => error.as_answer(),
///             Self::Idempotency(error) => error.as_answer(),
///         }
///     }
/// }
///
/// #[idempotent(namespace = "notifier", retention = "7d", marker = Notify)]
/// async fn notify(tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey, event: &Received<CaseEscalated>)
///     -> Result<(), NotifyError>
/// {
///     sqlx::query("INSERT INTO notification (case_id) VALUES (?1)").bind(event.case).execute(&mut **tx).await?;
///     Ok(())
/// }
///
/// fn notifier(pool: SqlitePool) -> Result<Consumer<impl idem_messaging::inbox::Handler>, Box<dyn std::error::Error>> {
///     let handler = move |key: IdempotencyKey, message: Arc<Message>| {
///         let pool = pool.clone();
///         async move { notify(&pool, &key, &Received::json(&message)?).await }
///     };
///     Ok(Consumer::new(Notify::OPERATION, MessageKey::cloud_event(), handler)?)
/// }
/// ```
#[derive(Debug)]
pub struct Consumer<H> {
    namespace: &'static str,
    retention: Duration,
    records_failures: bool,
    key: MessageKey,
    policy: Policy,
    handler: H,
    /// The pauses in a row.
    pauses: AtomicU32,
}

/// Why a consumer is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConsumerError {
    /// The key is one that no message can have.
    #[error(transparent)]
    Key(#[from] MessageError),

    /// Another operation of the consumer is in another namespace.
    #[error(
        "operation `{operation}` is in namespace `{other}`, and its consumer is `{namespace}`: the operations of one consumer share its namespace"
    )]
    OtherNamespace {
        /// The consumer.
        namespace: &'static str,
        /// The operation.
        operation: &'static str,
        /// Its namespace.
        other: &'static str,
    },

    /// Permanent failures are to be acknowledged, and the operation does not record them.
    #[error(
        "consumer `{namespace}` acknowledges permanent failures and does not record them, so that nothing of them would remain: set `failures = \"record\"` on its operations, or let them be dead letters"
    )]
    FailuresNotRecorded {
        /// The consumer.
        namespace: &'static str,
    },

    /// Two consumers have one namespace.
    #[error(
        "two consumers have the namespace `{namespace}`: of each message one would run, and the other be refused; give each a namespace of its own"
    )]
    SharedNamespace {
        /// The namespace.
        namespace: String,
    },
}

impl<H: Handler> Consumer<H> {
    /// Creates the consumer of the operation's namespace, with the default [`Policy`].
    ///
    /// # Errors
    /// [`ConsumerError::Key`] if `key` has a part that is no JSON pointer.
    pub fn new(
        operation: impl Into<OperationSpec>,
        key: MessageKey,
        handler: H,
    ) -> Result<Self, ConsumerError> {
        key.check()?;
        let operation = operation.into();
        Ok(Self {
            namespace: operation.namespace(),
            retention: operation.policy().retention,
            records_failures: operation.policy().failures == Failures::Record,
            key,
            policy: Policy::DEFAULT,
            handler,
            pauses: AtomicU32::new(0),
        })
    }

    /// Adds an operation that the handler calls too, for messages of another type.
    ///
    /// # Errors
    /// [`ConsumerError::OtherNamespace`] if it is in another namespace.
    pub fn with_operation(
        mut self,
        operation: impl Into<OperationSpec>,
    ) -> Result<Self, ConsumerError> {
        let operation = operation.into();
        if operation.namespace() != self.namespace {
            return Err(ConsumerError::OtherNamespace {
                namespace: self.namespace,
                operation: operation.name(),
                other: operation.namespace(),
            });
        }
        self.retention = self.retention.min(operation.policy().retention);
        self.records_failures &= operation.policy().failures == Failures::Record;
        self.with_policy_checked()
    }

    /// Sets the policy.
    ///
    /// # Errors
    /// [`ConsumerError::FailuresNotRecorded`] if it acknowledges permanent failures that no operation records.
    pub fn with_policy(mut self, policy: Policy) -> Result<Self, ConsumerError> {
        self.policy = policy;
        self.with_policy_checked()
    }

    fn with_policy_checked(self) -> Result<Self, ConsumerError> {
        if self.policy.permanent_failures() == PermanentFailures::Ack && !self.records_failures {
            return Err(ConsumerError::FailuresNotRecorded {
                namespace: self.namespace,
            });
        }
        Ok(self)
    }

    /// Returns the namespace, which is the consumer's name.
    pub fn namespace(&self) -> &'static str {
        self.namespace
    }

    /// Returns the policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Compares how long the broker may deliver a message again with how long its record is kept.
    ///
    /// # Errors
    /// [`RetentionTooShort`] if a message may come back after its record is gone. An adapter logs it at start-up.
    pub fn check_retention(&self, window: RedeliveryWindow) -> Result<(), RetentionTooShort> {
        window.check(self.namespace, self.retention)
    }

    /// Handles one delivery, and returns what the broker is to be told.
    ///
    /// If the future is dropped, nothing of the message remains, or its effect is committed and the next delivery is
    /// answered from the record; either way the broker is to deliver it again. A panic of the handler counts as an error of
    /// its own.
    ///
    /// It emits one `tracing` event (target `idem`) in a span of its own, which has the `trace_id` and `parent_id` of the
    /// message's `traceparent`.
    pub async fn handle(&self, delivery: &Delivery) -> Verdict {
        let message = delivery.message();
        let span = tracing::info_span!(
            target: "idem",
            "message",
            otel.kind = "consumer",
            consumer = self.namespace,
            topic = message.topic(),
            trace_id = tracing::field::Empty,
            parent_id = tracing::field::Empty,
        );
        if let Some(parent) = message.trace_parent() {
            span.record(
                "trace_id",
                format_args!("{:032x}", parent.trace_id()).to_string(),
            );
            span.record(
                "parent_id",
                format_args!("{:016x}", parent.parent_id()).to_string(),
            );
        }
        self.judge(delivery).instrument(span).await
    }

    async fn judge(&self, delivery: &Delivery) -> Verdict {
        let pauses = self.pauses.load(Ordering::Relaxed);
        let answer = self.answer(delivery.message()).await;
        let tried = Tried {
            attempts: delivery.attempts(),
            pauses,
        };
        let verdict = self.policy.verdict(&answer, tried, fastrand::f64());
        if let Verdict::Pause { .. } = verdict {
            // Deliveries that were under way together pause the consumer once.
            let next = pauses.saturating_add(1);
            let _ =
                self.pauses
                    .compare_exchange(pauses, next, Ordering::Relaxed, Ordering::Relaxed);
        } else {
            self.pauses.store(0, Ordering::Relaxed);
        }
        report(&verdict, delivery);
        #[cfg(feature = "metrics")]
        self.count(&answer, &verdict);
        verdict
    }

    #[cfg(feature = "metrics")]
    fn count(&self, answer: &Answer, verdict: &Verdict) {
        let is_duplicate = *answer == Answer::Replayed;
        metrics::handled(self.namespace, verdict.as_str(), is_duplicate);
        for reason in DeadLetterReason::ALL {
            let is_it =
                matches!(verdict, Verdict::DeadLetter { reason: its, .. } if *its == reason);
            metrics::dead_lettered(self.namespace, reason.as_str(), is_it);
        }
    }

    async fn answer(&self, message: &std::sync::Arc<Message>) -> Answer {
        let key = match self.key.of(message) {
            Ok(key) => key,
            Err(refused) => return refused.as_answer(),
        };
        let mut handling = pin!(self.handler.handle(key, message.clone()));
        let polled = poll_fn(|context| {
            // What a panic leaves behind is dropped with the future, which is not polled again.
            match catch_unwind(AssertUnwindSafe(|| handling.as_mut().poll(context))) {
                Ok(polled) => polled,
                Err(panic) => std::task::Poll::Ready(panicked(panic.as_ref())),
            }
        });
        polled.await
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Answer {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Answer::failed(&format!(
        "the handler panicked: {}",
        text.unwrap_or("with a value that is no text")
    ))
}

fn report(verdict: &Verdict, delivery: &Delivery) {
    let (outcome, attempts) = (verdict.as_str(), delivery.attempts());
    match verdict {
        Verdict::Ack => tracing::debug!(target: "idem", outcome, "message handled"),
        Verdict::Retry { after, .. } => {
            tracing::warn!(target: "idem", outcome, attempts, ?after, "message is to come again");
        }
        Verdict::Pause { after, detail } => {
            tracing::warn!(target: "idem", outcome, ?after, detail, "consumer pauses");
        }
        Verdict::DeadLetter { reason, detail } => {
            tracing::error!(target: "idem", outcome, %reason, detail, "message is dead");
        }
        Verdict::Park { attempt_id, .. } if delivery.is_after_parking() => {
            tracing::debug!(target: "idem", outcome, %attempt_id, "message stays parked");
        }
        Verdict::Park { attempt_id, detail } => {
            tracing::error!(target: "idem", outcome, %attempt_id, detail, "message is parked");
        }
    }
}

/// Refuses two consumers of one namespace in one program.
///
/// ```
/// use idem_messaging::inbox::check_namespaces;
///
/// assert!(check_namespaces(["notifier", "overview"]).is_ok());
/// assert!(check_namespaces(["notifier", "notifier"]).is_err());
/// ```
///
/// # Errors
/// [`ConsumerError::SharedNamespace`], with the first that is there twice.
pub fn check_namespaces<'a>(
    namespaces: impl IntoIterator<Item = &'a str>,
) -> Result<(), ConsumerError> {
    let mut known = std::collections::HashSet::new();
    for namespace in namespaces {
        if !known.insert(namespace) {
            return Err(ConsumerError::SharedNamespace {
                namespace: namespace.to_owned(),
            });
        }
    }
    Ok(())
}
