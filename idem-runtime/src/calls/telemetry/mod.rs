//! The event of a call: one for each call, with target [`TARGET`] and message `idempotent call`.
//!
//! | field | meaning |
//! |---|---|
//! | `namespace`, `operation` | the operation called |
//! | `key` | a short hash of the key, equal in every process; absent if the call has no key |
//! | `outcome` | how the call ended; see the second table |
//! | `replayed` | whether the answer is the record of an earlier attempt |
//! | `recorded_at_us`, `attempt` | of a replayed record: when it was written, by the database's clock, in microseconds since 1970; the number of the attempt that wrote it |
//! | `kind` | of a refusal: its [`ErrorKind`], one word |
//! | `refusal` | of a refusal: the variant of [`Error`] |
//! | `cause` | of a refusal: its whole text, with the database's error code or the kind of connection error |
//! | `differing` | of a mismatch, where the request is recorded: the places that differ ([`Mismatch::differing`](crate::error::Mismatch::differing)), divided by spaces |
//! | `waits` | how often the call waited for another attempt or a lock |
//! | `elapsed_us` | the duration of the call, in microseconds |
//!
//! | `outcome` | how the call ended |
//! |---|---|
//! | `executed` | the body ran and is committed (in the caller's transaction: its savepoint is released) |
//! | `unkeyed` | as `executed`, for a call without a key |
//! | `replayed` | an earlier result was returned |
//! | `failure_recorded` | the body's permanent failure was recorded and returned |
//! | `failure_replayed` | an earlier permanent failure was returned; in code, [`ReplayExt`](crate::ReplayExt) distinguishes it from a first one |
//! | `denied` | an earlier result or failure was not shown, because `authorize` or `on_replay` refused it |
//! | `failed` | the body's own error was returned; its writes are rolled back |
//! | `in_flight`, `mismatch`, `unknown`, `lease_lost` | refused by [`Error::InFlight`], [`Error::Mismatch`], [`Error::OutcomeUnknown`], [`Error::LeaseLost`] |
//! | `incompatible` | refused, because this build cannot read the record |
//! | `refused` | any other refusal; see `kind` and `refusal` |
//! | `dropped` | the call's future was dropped (a timeout, a client that disconnected) |
//! | `panicked` | the body panicked |
//!
//! The level is WARN for a refusal that may pass (HTTP 503). It is ERROR for a refusal caused by
//! the program, the schema or a record (HTTP 500), and for a panic. It is INFO for everything else.
//!
//! No event contains the text of a key, a request, a result, or a message that may quote one. The
//! hash of a key does not hide a guessable key: a reader of the events who can enumerate the
//! possible keys (order numbers, addresses) can find out which one it was. Random keys cannot be
//! enumerated.
//!
//! A single mismatch is a client's mistake and is logged at INFO. Many mismatches after a deploy
//! indicate that the deploy changed which values are compared. [`mismatches`] counts them by
//! operation, for a metric.

#[cfg(feature = "metrics")]
mod measured;
#[cfg(feature = "metrics")]
pub mod metrics;
mod observed;
mod span;
#[cfg(feature = "operate")]
mod tally;
#[cfg(not(feature = "metrics"))]
mod unmeasured;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

#[cfg(feature = "metrics")]
pub(crate) use self::measured::{Lapsed, Meter};
pub(crate) use self::observed::Observed;
pub use self::span::SPAN_TARGET;
#[cfg(feature = "operate")]
pub use self::tally::{ProcessCounts, process_counts};
#[cfg(not(feature = "metrics"))]
pub(crate) use self::unmeasured::{NoLapsed as Lapsed, NoMeter as Meter};

use crate::values::error::{Error, ErrorKind};
use crate::values::identity::Identity;
use crate::values::record::Record;
use crate::values::spec::OperationSpec;

/// The target of the library's events.
pub const TARGET: &str = "idem";

/// The outcome of a call whose body panicked.
pub(crate) const PANICKED: &str = "panicked";

/// The maximum number of operations whose mismatches are counted. Mismatches of further operations
/// are not counted.
const COUNTED: usize = 1024;

/// Mismatches by namespace and operation.
static MISMATCHES: Mutex<BTreeMap<(&str, &str), u64>> = Mutex::new(BTreeMap::new());

/// The number of mismatches of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatches {
    /// The operation's namespace.
    pub namespace: &'static str,
    /// The operation called. If the attribute has `operation = expr`, all its names are counted
    /// under the name of the function.
    pub operation: &'static str,
    /// The number of mismatches since the process started.
    pub count: u64,
}

/// Returns the number of calls that this process refused as a mismatch, for each operation that has
/// any, ordered by name. At most 1,024 operations are counted. A count that rises after a deploy
/// indicates that the deploy changed which values are compared.
///
/// ```
/// for mismatches in idem_runtime::telemetry::mismatches() {
///     println!("{}/{}: {}", mismatches.namespace, mismatches.operation, mismatches.count);
/// }
/// ```
pub fn mismatches() -> Vec<Mismatches> {
    let counts = MISMATCHES.lock().unwrap_or_else(PoisonError::into_inner);
    let counts = counts.iter();
    let named = counts.map(|(&(namespace, operation), &count)| Mismatches {
        namespace,
        operation,
        count,
    });
    named.collect()
}

/// Counts one mismatch.
fn count(operation: &OperationSpec) {
    let name = (operation.namespace(), operation.name());
    let mut counts = MISMATCHES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(count) = counts.get_mut(&name) {
        *count = count.saturating_add(1);
    } else if counts.len() < COUNTED {
        counts.insert(name, 1);
    }
}

/// The event of one call.
pub(crate) struct Call<'a> {
    pub(crate) operation: &'a OperationSpec,
    /// The operation's name in this call.
    pub(crate) name: &'a str,
    pub(crate) identity: Option<&'a Identity>,
    pub(crate) outcome: &'static str,
    pub(crate) record: Option<&'a Record>,
    pub(crate) refusal: Option<&'a Error>,
    pub(crate) waits: u32,
    pub(crate) elapsed: Duration,
}

impl Call<'_> {
    /// Emits the event in the span of its call.
    pub(crate) fn emit_in(&self, observed: &Observed) {
        observed.end(self.outcome, self.waits, || self.emit(observed.meter()));
    }

    /// Emits the event. The key appears as a short hash. Mismatches are also counted.
    pub(crate) fn emit(&self, meter: Meter) {
        meter.ended(self.outcome, self.refusal);
        #[cfg(feature = "operate")]
        tally::add(self.outcome);
        macro_rules! event {
            ($level:ident) => {
                tracing::$level!(
                    target: TARGET,
                    namespace = self.operation.namespace(),
                    operation = self.name,
                    key = self.identity.map(|identity| identity.key().short_hash()).as_deref(),
                    outcome = self.outcome,
                    replayed = self.record.is_some(),
                    recorded_at_us = self.record.map(|record| record.created_at.as_micros()),
                    attempt = self.record.map(|record| record.attempt),
                    kind = self.refusal.map(|error| error.kind().as_str()),
                    refusal = self.refusal.map(Error::name),
                    cause = self.refusal.map(Error::text).as_deref(),
                    differing = self.refusal.and_then(places).as_deref(),
                    waits = self.waits,
                    elapsed_us = u64::try_from(self.elapsed.as_micros()).unwrap_or(u64::MAX),
                    "idempotent call"
                )
            };
        }
        if matches!(self.refusal, Some(Error::Mismatch(_))) {
            count(self.operation);
        }
        match self.refusal.map(Error::kind) {
            Some(ErrorKind::Transient | ErrorKind::Unavailable) => event!(warn),
            Some(ErrorKind::Misuse | ErrorKind::Incompatible | ErrorKind::Database) => {
                event!(error);
            }
            None if self.outcome == PANICKED => event!(error),
            _ => event!(info),
        }
    }
}

/// Returns the places at which a refused request differs from the recorded one.
fn places(refusal: &Error) -> Option<String> {
    match refusal {
        Error::Mismatch(mismatch) if !mismatch.differing.is_empty() => {
            Some(mismatch.differing.join(" "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_operations_are_counted_than_fit_and_those_counted_go_on() {
        let name = |n: usize| &*Box::leak(format!("counted {n:04}").into_boxed_str());
        for n in 0..COUNTED + 2 {
            count(&OperationSpec::new("bounded", name(n)));
        }
        count(&OperationSpec::new("bounded", name(0)));
        let all = mismatches();
        assert_eq!(all.len(), COUNTED);
        assert_eq!((all[0].operation, all[0].count), ("counted 0000", 2));
    }
}
