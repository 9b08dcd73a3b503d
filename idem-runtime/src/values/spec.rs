//! The description of an operation: its stable name, its key space and its options.

use std::time::Duration;

use crate::values::codec::Codec;
use crate::values::key::{is_namespace, limits};
use crate::values::policy::{Expiry, Failures, Lease, MAX_RETENTION, MAX_WAIT, OnConflict, Policy};

/// The default table of an operation.
pub(crate) const DEFAULT_TABLE: &str = "idem_record";

/// The longest name of a table, in bytes, without its schema. Databases cut names at 63 bytes, and
/// the names of the indexes `.._expires_at` and `.._locked_until` must still differ after the cut.
pub(crate) const TABLE_MAX: usize = 61;

/// The description of an operation: what [`Operation`](crate::Operation) and
/// [`LeasedOperation`](crate::LeasedOperation) have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationSpec {
    namespace: &'static str,
    name: &'static str,
    table: &'static str,
    policy: Policy,
    codec: Option<&'static Codec>,
}

impl OperationSpec {
    /// Describes the operation `name` with the default policy.
    pub(crate) const fn new(namespace: &'static str, name: &'static str) -> Self {
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
            codec: None,
        }
    }

    pub(crate) const fn retention(mut self, retention: Duration) -> Self {
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

    pub(crate) const fn wait(mut self, wait: Duration) -> Self {
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

    /// Lets a call refuse a duplicate of a running attempt at once, whatever the operation says.
    pub(crate) const fn without_wait(mut self) -> Self {
        self.policy.on_conflict = OnConflict::Reject;
        self
    }

    pub(crate) const fn record_failures(mut self) -> Self {
        self.policy.failures = Failures::Record;
        self
    }

    pub(crate) const fn record_request(mut self) -> Self {
        self.policy.record_request = true;
        self
    }

    pub(crate) const fn request_limit(mut self, bytes: usize) -> Self {
        self.policy.request_limit = bytes;
        self
    }

    pub(crate) const fn result_limit(mut self, bytes: usize) -> Self {
        assert!(bytes > 0, "a limit of results is above zero");
        self.policy.result_limit = bytes;
        self
    }

    pub(crate) const fn optional_key(mut self) -> Self {
        self.policy.key_required = false;
        self
    }

    pub(crate) const fn without_fingerprint(mut self) -> Self {
        self.policy.fingerprint = false;
        self
    }

    pub(crate) const fn strict_expiry(mut self) -> Self {
        self.policy.expiry = Expiry::Strict;
        self
    }

    pub(crate) const fn lease(mut self, lease: Lease) -> Self {
        assert!(
            self.policy.key_required,
            "a lease belongs to a key, so the key is required: leave out `optional_key`"
        );
        self.policy.lease = Some(lease);
        self
    }

    pub(crate) const fn table(mut self, table: &'static str) -> Self {
        assert!(
            is_table(table),
            "a table is [schema.]name, each [a-z_][a-z0-9_]*, the schema of at most 63 bytes, the name of at most 61"
        );
        self.table = table;
        self
    }

    #[cfg(any(feature = "encrypt", feature = "zstd"))]
    pub(crate) const fn with_codec(mut self, codec: &'static Codec) -> Self {
        self.codec = Some(codec);
        self
    }

    pub(crate) const fn codec(&self) -> Option<&'static Codec> {
        self.codec
    }

    /// Returns the key space.
    pub const fn namespace(&self) -> &'static str {
        self.namespace
    }

    /// Returns the operation's stable name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the table that the operation records in.
    pub const fn table_name(&self) -> &'static str {
        self.table
    }

    /// Returns the options of the operation.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// Checks the rule of `key::text::check` in a constant.
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
    use crate::values::error::Field;
    use crate::values::key::text;

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
        let _ = OperationSpec::new("n", "o").retention(Duration::ZERO);
    }
}
