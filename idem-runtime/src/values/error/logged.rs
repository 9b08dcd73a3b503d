//! The text of an error for logs, without keys, requests and results.

use std::borrow::Cow;
use std::fmt;

use super::{DatabaseError, Error, ErrorKind};

impl ErrorKind {
    /// Returns one word for logs and metrics.
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
    /// Returns the variant's name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "Invalid",
            Self::KeyMissing { .. } => "KeyMissing",
            Self::ScopeMissing { .. } => "ScopeMissing",
            Self::InFlight { .. } => "InFlight",
            Self::Mismatch(_) => "Mismatch",
            Self::RecordedFailure(_) => "RecordedFailure",
            Self::OutcomeUnknown { .. } => "OutcomeUnknown",
            Self::LeaseLost => "LeaseLost",
            Self::LeaseInTransaction => "LeaseInTransaction",
            Self::TooManyRuns { .. } => "TooManyRuns",
            Self::NestedSameKey => "NestedSameKey",
            Self::AlreadyInTransaction => "AlreadyInTransaction",
            Self::NotInTransaction => "NotInTransaction",
            Self::TransactionEnded => "TransactionEnded",
            Self::TableMoved { .. } => "TableMoved",
            Self::PermissionDenied { .. } => "PermissionDenied",
            Self::StatementUnfinished(_) => "StatementUnfinished",
            Self::TransactionAborted => "TransactionAborted",
            Self::TransactionLost(_) => "TransactionLost",
            Self::FreshTransactionNeeded => "FreshTransactionNeeded",
            Self::RecordInvisible => "RecordInvisible",
            Self::RecordNotWritten => "RecordNotWritten",
            Self::CommitFailed(_) => "CommitFailed",
            Self::CommitUnknown(_) => "CommitUnknown",
            Self::Busy(_) => "Busy",
            Self::StatementsLost(_) => "StatementsLost",
            Self::LockTableFull(_) => "LockTableFull",
            Self::ReadOnly(_) => "ReadOnly",
            Self::Unavailable(_) => "Unavailable",
            Self::Database(_) => "Database",
            Self::IncompatibleState { .. } => "IncompatibleState",
            Self::NotStorable { .. } => "NotStorable",
            Self::TooLargeToRecord { .. } => "TooLargeToRecord",
            Self::UnknownState { .. } => "UnknownState",
            Self::Archive(_) => "Archive",
            Self::Codec(_) => "Codec",
            Self::Schema(_) => "Schema",
        }
    }

    /// Returns the full text, including the database error's.
    pub(crate) fn text(&self) -> String {
        let text = self.to_string();
        match self.database() {
            // Some texts contain it in the middle.
            Some(error) if !text.contains(&*error.cause()) => format!("{text} ({error})"),
            _ => text,
        }
    }

    fn database(&self) -> Option<&DatabaseError> {
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
            | Self::Database(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Debug for Error {
    /// Prints the variant's name and its text, but no fields: they may hold personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.name()).field(&self.text()).finish()
    }
}

/// Returns the line and the column at the end of a decoder's message, without the rest of the
/// message.
pub(super) fn position(message: &str) -> Cow<'static, str> {
    let numbers = message
        .rsplit_once(" at line ")
        .and_then(|(_, numbers)| numbers.split_once(" column "))
        .and_then(|(line, column)| Some((line.parse::<u64>().ok()?, column.parse::<u64>().ok()?)));
    match numbers {
        Some((line, column)) => format!(" at line {line}, column {column}").into(),
        None => "".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::failure::StoredFailure;

    #[test]
    fn a_name_is_the_variants_and_nothing_of_its_content() {
        let failure = Box::new(StoredFailure::new("Declined", "card 4111"));
        assert_eq!(Error::RecordedFailure(failure).name(), "RecordedFailure");
        assert_eq!(Error::NestedSameKey.name(), "NestedSameKey");
        let operation = "pay".into();
        assert_eq!(Error::KeyMissing { operation }.name(), "KeyMissing");
    }

    #[test]
    fn what_a_decoder_quotes_is_not_shown() {
        let error = Error::IncompatibleState {
            operation: "pay".to_owned(),
            type_name: "shop::Payment",
            path: "cards[\"4111\"]".to_owned(),
            message: "invalid type: string \"4111\", expected u8 at line 1 column 40".to_owned(),
            version: None,
        };
        for text in [error.to_string(), error.text(), format!("{error:#?}")] {
            assert!(!text.contains("4111"), "{text}");
            assert!(text.contains("shop::Payment"), "{text}");
            assert!(text.contains("at line 1, column 40"), "{text}");
        }
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
