//! The description of an operation: its name, its key space and its policy.

use std::time::Duration;

use crate::key::limits;
use crate::policy::{
    Expiry, Failures, Lease, MAX_RETENTION, MAX_WAIT, OnConflict, OnLapse, Policy,
};

/// The table of operations that name none.
pub const DEFAULT_TABLE: &str = "idem_record";

/// The longest name of a table, in bytes, without its schema. Databases cut names at 63 bytes, and
/// the names of the indexes `.._expires_at` and `.._locked_until` must still differ after the cut.
pub(crate) const TABLE_MAX: usize = 61;

/// The description of one operation, usually a constant.
///
/// The attribute generates one for each handler. Without the attribute, write it by hand and call
/// [`Operation::run`]. Every builder method is `const` and refuses a bad value at compile time:
///
/// ```
/// use idem_runtime::Operation;
/// use std::time::Duration;
///
/// const SHIP: Operation = Operation::new("orders", "ship").retention(Duration::from_secs(7 * 24 * 3600));
/// ```
///
/// ```compile_fail
/// # use idem_runtime::Operation;
/// const SHIP: Operation = Operation::new("Orders!", "ship"); // not a namespace
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    namespace: &'static str,
    name: &'static str,
    table: &'static str,
    policy: Policy,
}

impl Operation {
    /// Creates the operation `name` in the key space `namespace`, with the default [`Policy`]. The
    /// name has 1 to 255 characters; it is stored and compared, so it must not change. The
    /// namespace has 1 to 64 characters of `a-z 0-9 - _`.
    ///
    /// # Panics
    /// Panics if either name breaks its rule; in a constant this is a compile error.
    pub const fn new(namespace: &'static str, name: &'static str) -> Self {
        assert!(
            is_namespace(namespace),
            "a namespace has 1-64 characters of `a-z 0-9 - _`"
        );
        assert!(
            is_name(name),
            "an operation's name has 1-255 characters, is not blank, and has no control characters"
        );
        Self {
            namespace,
            name,
            table: DEFAULT_TABLE,
            policy: Policy::DEFAULT,
        }
    }

    /// Sets how long a record is kept after it was written, by the database's clock.
    ///
    /// # Panics
    /// Panics if the retention is shorter than 1 microsecond (the resolution of the databases) or
    /// longer than 3,650 days.
    #[must_use]
    pub const fn retention(mut self, retention: Duration) -> Self {
        assert!(
            retention.as_micros() > 0,
            "a retention is above zero, and at least a microsecond"
        );
        assert!(
            retention.as_nanos() <= MAX_RETENTION.as_nanos(),
            "a retention is at most 3,650 days"
        );
        self.policy.retention = retention;
        self
    }

    /// Lets a duplicate wait up to this long for the running attempt, instead of refusing it at
    /// once.
    ///
    /// # Panics
    /// Panics if the wait is shorter than 1 microsecond or longer than 60 seconds.
    #[must_use]
    pub const fn wait(mut self, wait: Duration) -> Self {
        assert!(
            wait.as_micros() > 0,
            "a wait is above zero, and at least a microsecond"
        );
        assert!(
            wait.as_nanos() <= MAX_WAIT.as_nanos(),
            "a wait is at most 60 seconds"
        );
        self.policy.on_conflict = OnConflict::Wait(wait);
        self
    }

    /// Records permanent failures and replays them; see [`Failure`](crate::Failure).
    #[must_use]
    pub const fn record_failures(mut self) -> Self {
        self.policy.failures = Failures::Record;
        self
    }

    /// Stores the canonical request beside its hash, to diagnose mismatches.
    #[must_use]
    pub const fn record_request(mut self) -> Self {
        self.policy.record_request = true;
        self
    }

    /// Sets the largest request that the record stores, in bytes of canonical JSON; by default
    /// [`DEFAULT_REQUEST_LIMIT`](crate::policy::DEFAULT_REQUEST_LIMIT). Of a larger request only
    /// the hash is stored, and the fact that it was too large. It is compared like any other.
    #[must_use]
    pub const fn request_limit(mut self, bytes: usize) -> Self {
        self.policy.request_limit = bytes;
        self
    }

    /// Lets a call without a key run, without idempotency.
    #[must_use]
    pub const fn optional_key(mut self) -> Self {
        self.policy.key_required = false;
        self
    }

    /// Compares no requests: only the key identifies a call.
    #[must_use]
    pub const fn without_fingerprint(mut self) -> Self {
        self.policy.fingerprint = false;
        self
    }

    /// Treats a record past its retention as absent, by the database's clock, instead of replaying
    /// it until a purge deletes it.
    #[must_use]
    pub const fn strict_expiry(mut self) -> Self {
        self.policy.expiry = Expiry::Strict;
        self
    }

    /// Enables lease mode, for effects that no database can roll back. The claim is committed
    /// before the body runs, and the attempt owns its key for `lease` after the claim and after
    /// each heartbeat. Call it with [`Operation::run_leased`].
    ///
    /// The record stores the request from the claim on, so that an unknown outcome can be
    /// investigated. It does so up to [`request_limit`](Self::request_limit), even without
    /// [`record_request`](Self::record_request). An operation [without a
    /// fingerprint](Self::without_fingerprint) has no request to store.
    ///
    /// # Panics
    /// Panics if the lease is shorter than 1 second or longer than 24 hours.
    #[must_use]
    pub const fn lease(mut self, lease: Duration, on_lapse: OnLapse) -> Self {
        self.policy.lease = Some(Lease::constant(lease, on_lapse));
        self
    }

    /// Records in another table: `name` or `schema.name`, each `[a-z_][a-z0-9_]*`. The schema has
    /// at most 63 bytes and the name at most 61: databases cut names at 63 bytes, and the names of
    /// a longer table's indexes would collide.
    ///
    /// # Panics
    /// Panics if the text is no such identifier, because it is spliced into SQL text.
    #[must_use]
    pub const fn table(mut self, table: &'static str) -> Self {
        assert!(
            is_table(table),
            "a table is [schema.]name, each [a-z_][a-z0-9_]*, the schema of at most 63 bytes, the name of at most 61"
        );
        self.table = table;
        self
    }

    /// Returns the key space.
    pub const fn namespace(&self) -> &'static str {
        self.namespace
    }

    /// Returns the operation's name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the table that the operation records in.
    pub const fn table_name(&self) -> &'static str {
        self.table
    }

    /// Returns the policy.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// Describes the operation of a type: the marker type that `marker = ..` generates beside a
/// handler. Use it where the handler's operation is needed without a call.
///
/// ```
/// # #[cfg(all(feature = "macros", feature = "sqlite"))] {
/// use idem_runtime::{DescribeOperation as _, IdempotencyKey, idempotent};
/// use sqlx::SqliteTransaction;
///
/// #[idempotent(namespace = "payments", marker = Settle)]
/// async fn settle(_tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> Result<(), idem_runtime::Error> {
///     Ok(())
/// }
///
/// assert_eq!(Settle::OPERATION.name(), "settle");
/// # }
/// ```
pub trait DescribeOperation {
    /// The operation.
    const OPERATION: Operation;
}

const fn is_namespace(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !matches!(bytes[at], b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_') {
            return false;
        }
        at += 1;
    }
    !bytes.is_empty() && bytes.len() <= limits::NAMESPACE_MAX
}

/// The rule of `key::text::check`, in a constant.
const fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (mut at, mut characters, mut blank) = (0, 0, true);
    while at < bytes.len() {
        let (code, length) = character(bytes, at);
        // C0, DEL and C1.
        if code < 0x20 || (code >= 0x7F && code <= 0x9F) {
            return false;
        }
        blank = blank && is_white_space(code);
        characters += 1;
        at += length;
    }
    !blank && characters <= limits::OPERATION_MAX
}

/// Returns the character at a byte position of UTF-8 text, and its length in bytes.
const fn character(bytes: &[u8], at: usize) -> (u32, usize) {
    let first = bytes[at];
    let (mut code, length) = match first {
        0..0x80 => (first as u32, 1),
        0x80..0xE0 => (first as u32 & 0x1F, 2),
        0xE0..0xF0 => (first as u32 & 0x0F, 3),
        0xF0.. => (first as u32 & 0x07, 4),
    };
    let mut next = 1;
    while next < length {
        code = code << 6 | (bytes[at + next] as u32 & 0x3F);
        next += 1;
    }
    (code, length)
}

const fn is_white_space(code: u32) -> bool {
    match char::from_u32(code) {
        Some(found) => found.is_whitespace(),
        None => false,
    }
}

pub(crate) const fn is_table(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (mut at, mut length, mut dots) = (0, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'.' if length > 0 && dots == 0 => {
                dots += 1;
                length = 0;
            }
            b'a'..=b'z' | b'_' => length += 1,
            b'0'..=b'9' if length > 0 => length += 1,
            _ => return false,
        }
        if length > 63 {
            return false;
        }
        at += 1;
    }
    length > 0 && length <= TABLE_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Field;
    use crate::key::text;

    #[test]
    fn a_table_is_an_identifier_that_needs_no_quoting() {
        for good in ["idem_record", "app.idem_record", "_a", "a1"] {
            assert!(is_table(good), "{good}");
        }
        for bad in [
            "",
            ".",
            "a.",
            ".a",
            "a.b.c",
            "1a",
            "A",
            "a b",
            "a;drop",
            "a\"b",
            "é",
            &"a".repeat(64),
        ] {
            assert!(!is_table(bad), "{bad}");
        }
    }

    #[test]
    fn a_name_is_counted_in_characters_and_has_no_control_characters() {
        assert!(is_name(&"é".repeat(255)));
        assert!(!is_name(&"é".repeat(256)));
        for bad in ["", "a\nb", "a\u{7f}", "a\u{85}b"] {
            assert!(!is_name(bad), "{bad:?}");
        }
        assert!(is_name("a\u{a0}b"));
    }

    #[test]
    fn a_name_is_fit_in_a_constant_exactly_if_it_is_fit_at_run_time() {
        let fit = |name: &str| text::check(Field::Operation, name, limits::OPERATION_MAX).is_ok();
        let mut buffer = [0; 4];
        for c in '\0'..=char::MAX {
            let name = &*c.encode_utf8(&mut buffer);
            assert_eq!(is_name(name), fit(name), "{name:?}");
        }
        for name in ["   ", " a ", "\u{3000}\u{a0}", "\u{3000}a"] {
            assert_eq!(is_name(name), fit(name), "{name:?}");
        }
    }

    #[test]
    #[should_panic(expected = "above zero")]
    fn a_retention_of_zero_is_refused() {
        let _ = Operation::new("n", "o").retention(Duration::ZERO);
    }
}
