//! Why a message cannot be handled as it is.

use std::borrow::Cow;

/// Why a message is refused. The handler did not run and nothing was written.
///
/// No text quotes the message: its payload and its headers may hold personal data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The message lacks a part of its key.
    #[error(
        "the message has no {part}, which its consumer takes for its identity; nothing was written; let the producer set it, or choose another `MessageKey`"
    )]
    NoId {
        /// What was looked for.
        part: Cow<'static, str>,
    },

    /// A part of the key is empty, or has only white space.
    #[error(
        "the message's {part} is blank, so that messages without one would share a key; nothing was written; let the producer set it"
    )]
    Blank {
        /// The part of the key.
        part: Cow<'static, str>,
    },

    /// A header, or an attribute under two prefixes, is there more than once with different values.
    #[error(
        "the message has two different values of `{name}`; nothing was written; let the producer set it once"
    )]
    Ambiguous {
        /// The header or the attribute.
        name: Cow<'static, str>,
    },

    /// A part of a key is not an RFC 6901 pointer, which is empty or begins with `/`.
    #[error("`{pointer}` is no JSON pointer (RFC 6901): it begins with `/`, as in `/order/id`")]
    NotPointer {
        /// The text given.
        pointer: Cow<'static, str>,
    },

    /// The payload field that is a part of the key holds something else than text or a whole number.
    #[error(
        "the payload's field `{pointer}` is {found}, and a part of a key is text or a whole number; nothing was written"
    )]
    NotKeyPart {
        /// The JSON pointer.
        pointer: Cow<'static, str>,
        /// What it is instead.
        found: &'static str,
    },

    /// The payload is not JSON, or not that of a CloudEvent in structured mode.
    #[error("the message's payload is not {expected}: {message}; nothing was written")]
    Payload {
        /// What was expected.
        expected: &'static str,
        /// What is wrong, and where.
        message: String,
    },

    /// The message is a CloudEvent in a form that is not read: a batch, a format other than JSON, a `specversion` other
    /// than 1.x.
    #[error(
        "the message is a CloudEvent in a form that is not read ({form}); nothing was written; read are binary mode and JSON (`application/cloudevents+json`) of specversion 1.0"
    )]
    CloudEventForm {
        /// The form found.
        form: &'static str,
    },

    /// The payload does not decode into the type that the handler takes.
    #[error("the message's payload does not decode into `{type_name}`{path}; nothing was written")]
    Decode {
        /// The Rust type.
        type_name: &'static str,
        /// Line and column, in words.
        path: String,
    },
}
