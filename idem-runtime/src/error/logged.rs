//! What an error says of itself in a log: names and codes, never a key, a request or a result.
//!
//! Its `Display` may quote them (a decoder's message, a recorded failure's).

use std::borrow::Cow;
use std::fmt::{self, Write};

use super::{Error, ErrorKind};

impl ErrorKind {
    /// One word, for logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Mismatch => "mismatch",
            Self::InFlight => "in_flight",
            Self::RecordedFailure => "recorded_failure",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Misuse => "misuse",
            Self::Transient => "transient",
            Self::Unavailable => "unavailable",
            Self::Incompatible => "incompatible",
            Self::Database => "database",
        }
    }
}

impl Error {
    /// The variant's name.
    pub(crate) fn name(&self) -> String {
        let mut name = FirstWord(String::new());
        // The error that ends it is our own: `Debug` begins with the name.
        let _ = write!(name, "{self:?}");
        name.0
    }

    /// What is behind it, as far as it can be said without quoting anybody's data.
    pub(crate) fn cause(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::TransactionLost(error)
            | Self::CommitFailed(error)
            | Self::CommitUnknown(error)
            | Self::StatementUnfinished(error)
            | Self::StatementsLost(error)
            | Self::LockTableFull(error)
            | Self::PermissionDenied { source: error, .. }
            | Self::Busy(error)
            | Self::ReadOnly(error)
            | Self::Unavailable(error)
            | Self::Database(error) => Some(error.cause()),
            Self::Invalid(invalid) => Some(invalid.field().to_string().into()),
            Self::IncompatibleState { type_name, .. } | Self::NotStorable { type_name, .. } => {
                Some((*type_name).into())
            }
            Self::UnknownState { what, value } => Some(format!("{what} {value}").into()),
            Self::Schema(fault) => Some(fault.to_string().into()),
            _ => None,
        }
    }
}

/// Keeps what is written up to the first character that no name has.
struct FirstWord(String);

impl Write for FirstWord {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(text.len());
        self.0.push_str(&text[..end]);
        if end < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::StoredFailure;

    #[test]
    fn a_name_is_the_variants_and_nothing_of_its_content() {
        let failure = Box::new(StoredFailure::new("Declined", "card 4111"));
        assert_eq!(Error::RecordedFailure(failure).name(), "RecordedFailure");
        assert_eq!(Error::NestedSameKey.name(), "NestedSameKey");
        let operation = "pay".into();
        assert_eq!(Error::KeyMissing { operation }.name(), "KeyMissing");
    }

    #[test]
    fn what_a_decoder_quotes_is_not_the_cause() {
        let error = Error::IncompatibleState {
            operation: "pay".to_owned(),
            type_name: "shop::Payment",
            path: "cards[\"4111\"]".to_owned(),
            message: "invalid type: string \"4111\"".to_owned(),
        };
        assert!(error.to_string().contains("4111"));
        assert_eq!(error.cause().as_deref(), Some("shop::Payment"));
    }

    #[test]
    fn no_connection_says_why_and_what_to_do_without_the_servers_text() {
        let refused = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "10.0.0.7:5432");
        for (error, why) in [
            (
                sqlx::Error::PoolTimedOut,
                "no connection of the pool became free in time",
            ),
            (sqlx::Error::PoolClosed, "the pool is closed"),
            (sqlx::Error::Io(refused), "connection refused"),
        ] {
            assert_eq!(
                Error::Unavailable(error.into()).to_string(),
                format!(
                    "no connection to the idempotency store ({why}); the body did not run or was \
                     rolled back: try again with the same key"
                )
            );
        }
    }
}
