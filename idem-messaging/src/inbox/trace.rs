//! The trace that a message's producer was in.

use std::fmt;
use std::str::FromStr;

/// A `traceparent` (W3C Trace Context, section 3.2): the trace, the span that sent the message, and the flags.
///
/// ```
/// use idem_messaging::inbox::TraceParent;
///
/// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let parent: TraceParent = text.parse()?;
/// assert_eq!(parent.trace_id(), 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
/// assert!(parent.sampled());
/// assert_eq!(parent.to_string(), text);
/// # Ok::<(), idem_messaging::inbox::MalformedTraceParent>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace_id: u128,
    parent_id: u64,
    flags: u8,
}

/// A text is no `traceparent` of W3C Trace Context, section 3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no traceparent by W3C Trace Context, section 3.2: `00-`, 32 lower-case hexadecimal digits that are not all zero, `-`, 16 such digits, `-`, and 2"
)]
pub struct MalformedTraceParent;

impl TraceParent {
    /// Returns the id of the trace; never 0.
    pub fn trace_id(self) -> u128 {
        self.trace_id
    }

    /// Returns the id of the span that sent the message; never 0.
    pub fn parent_id(self) -> u64 {
        self.parent_id
    }

    /// Returns whether the producer recorded the trace (section 3.2.2.3.1).
    pub fn sampled(self) -> bool {
        self.flags & 1 == 1
    }

    /// Returns the flags as they were sent.
    pub fn flags(self) -> u8 {
        self.flags
    }
}

impl FromStr for TraceParent {
    type Err = MalformedTraceParent;

    /// Parses version 00 exactly, and of a later version its first four fields (section 4.3).
    fn from_str(text: &str) -> Result<Self, MalformedTraceParent> {
        parse(text).ok_or(MalformedTraceParent)
    }
}

fn parse(text: &str) -> Option<TraceParent> {
    let mut fields = text.split('-');
    let version = hex(fields.next()?, 2)?;
    let trace_id = hex(fields.next()?, 32)?;
    let parent_id = hex(fields.next()?, 16)?;
    let flags = hex(fields.next()?, 2)?;
    let ends = fields.next().is_none();
    if version == 0xff || (version == 0 && !ends) || trace_id == 0 || parent_id == 0 {
        return None;
    }
    Some(TraceParent {
        trace_id,
        parent_id: u64::try_from(parent_id).ok()?,
        flags: u8::try_from(flags).ok()?,
    })
}

fn hex(field: &str, digits: usize) -> Option<u128> {
    let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if field.len() != digits || !field.bytes().all(lower) {
        return None;
    }
    u128::from_str_radix(field, 16).ok()
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace, parent, flags) = (self.trace_id, self.parent_id, self.flags);
        write!(f, "00-{trace:032x}-{parent:016x}-{flags:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_traceparent_begins_a_new_trace() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert!(good.parse::<TraceParent>().is_ok());
        let bad = [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ];
        for text in bad {
            assert_eq!(
                text.parse::<TraceParent>(),
                Err(MalformedTraceParent),
                "{text}"
            );
        }
    }

    #[test]
    fn a_later_version_is_read_by_its_first_four_fields() {
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes";
        let parent = later.parse::<TraceParent>().unwrap();
        assert_eq!(
            (parent.parent_id(), parent.flags()),
            (0x00f0_67aa_0ba9_02b7, 1)
        );
    }
}
