//! One event a call: target [`TARGET`], message `idempotent call`.
//!
//! | field | meaning |
//! |---|---|
//! | `namespace`, `operation` | the operation called |
//! | `key` | a short hash of the key; absent without a key |
//! | `outcome` | what was answered, below |
//! | `replayed` | whether an earlier attempt's record was answered |
//! | `recorded_at_us`, `attempt` | of the record that is replayed: its time by the database's clock, microseconds since 1970; which attempt wrote it |
//! | `kind` | for a refusal: its [`ErrorKind`], one word |
//! | `refusal` | for a refusal: the variant of [`Error`] |
//! | `cause` | for a refusal: the database's code, the kind of connection error, the type, column or parameter at fault |
//! | `waits` | how often the call waited for another |
//! | `elapsed_us` | how long it took, in microseconds |
//!
//! | `outcome` | answered |
//! |---|---|
//! | `executed` | the body ran and is committed (in the caller's transaction: its savepoint is released) |
//! | `unkeyed` | the same, for a call without a key |
//! | `replayed` | an earlier result |
//! | `failure_recorded` | the body's permanent failure, now recorded |
//! | `failure_replayed` | an earlier permanent failure. It is told from a fresh one here only |
//! | `failed` | the body's own error; nothing remains |
//! | `in_flight`, `mismatch` | those refusals |
//! | `incompatible` | a record that this build cannot read |
//! | `refused` | any other refusal; `kind` and `refusal` say which |
//! | `dropped` | nothing: the call's future was dropped before it was answered (a timeout, a client that hung up) |
//! | `panicked` | nothing: the body panicked |
//!
//! Level: WARN for a refusal that may pass (HTTP 503), ERROR for one at which the program, the schema
//! or a record is at fault (500) and for a panic, INFO for everything else.
//!
//! No event holds a key's text, a request or a result, nor a message that may quote one.

use std::time::Duration;

use crate::error::{Error, ErrorKind};
use crate::identity::Identity;
use crate::record::Record;
use crate::spec::Operation;

/// The target of the library's events.
pub const TARGET: &str = "idem";

/// The outcome of a call whose body panicked.
pub(crate) const PANICKED: &str = "panicked";

/// What one call came to.
pub(crate) struct Call<'a> {
    pub(crate) operation: &'a Operation,
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
    /// Emits the event: a short hash stands for the key, and replays are told from first runs.
    pub(crate) fn emit(&self) {
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
                    refusal = self.refusal.map(Error::name).as_deref(),
                    cause = self.refusal.and_then(Error::cause).as_deref(),
                    waits = self.waits,
                    elapsed_us = u64::try_from(self.elapsed.as_micros()).unwrap_or(u64::MAX),
                    "idempotent call"
                )
            };
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
