//! Where a payload stands.

use crate::values::identity::Identity;

/// The column of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Request,
    Result,
    Failure,
}

impl Column {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Result => "result",
            Self::Failure => "failure",
        }
    }
}

/// The record that a payload belongs to: an encrypted payload is bound to it.
#[derive(Clone, Copy)]
pub(crate) struct Binding<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) operation: &'a str,
}
