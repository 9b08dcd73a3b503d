//! Permanent failures: the errors that are recorded and replayed.

pub(crate) mod given_up;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::values::version::Versions;

/// A permanent failure as it is stored and replayed.
///
/// `class` is the stable name of the kind of failure, by default the variant's name. A build that
/// does not know a class still replays the failure with its message.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoredFailure {
    /// The stable name of the kind of failure.
    pub class: String,
    /// The error's message.
    pub message: String,
    /// The message of the error's direct cause, if there is one; causes of the cause are not
    /// stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The fields that are needed to rebuild the error.
    ///
    /// Boxed, so that an error that contains a failure stays below the limit of clippy's
    /// `result_large_err` with every feature of `serde_json`.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub data: Box<serde_json::Value>,
    /// Whether the source of the error is a deadlock or a serialization failure. Never stored.
    #[serde(skip)]
    pub(crate) given_up: bool,
}

impl fmt::Debug for StoredFailure {
    /// Prints only the class: the other fields may quote the request.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredFailure")
            .field("class", &self.class)
            .finish_non_exhaustive()
    }
}

impl StoredFailure {
    /// Creates a failure of this class, with this message.
    pub fn new(class: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            class: class.into(),
            message: message.into(),
            cause: None,
            data: Box::default(),
            given_up: false,
        }
    }

    /// Sets the message of the cause.
    #[must_use]
    pub fn with_cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Sets the fields that are needed to rebuild the error.
    #[must_use]
    pub fn with_data(mut self, data: serde_json::Value) -> Self {
        self.data = Box::new(data);
        self
    }
}

/// Declares which values of an error type are permanent, for handlers with `failures = "record"`.
///
/// A permanent failure is one that a retry of the same request cannot repair, such as a declined
/// card or a closed account. It is recorded, and every retry gets it back. Any other error is
/// transient: the transaction is rolled back and the key stays unused. A database error is never
/// permanent: a deadlock must not be recorded.
///
/// A derived failure is not recorded if the error's [`source`](std::error::Error::source), or a
/// source of that source, is a deadlock or a serialization failure, even if its variant is
/// permanent. The library does not check the sources of an implementation by hand, or of an error
/// that does not return its source: there `to_failure` decides.
///
/// # Derived
///
/// `#[derive(Failure)]` (feature `macros`) implements the trait for an enum. Each permanent variant
/// is marked. The record keeps the variant's name (or its `class`), the message, the cause and the
/// fields, and a retry gets the same variant. If this build does not know the class, or cannot
/// decode its fields, the failure is returned in the variant for replayed failures:
///
/// ```
/// # #[cfg(feature = "macros")] {
/// use idem_runtime::{Failure, StoredFailure};
///
/// #[derive(Debug, thiserror::Error, Failure)]
/// enum PaymentError {
///     #[error("card declined: {code}")]
///     #[failure(permanent)]
///     Declined { code: u32 },
///
///     #[error("the account is closed")]
///     #[failure(permanent, class = "closed")]
///     AccountClosed,
///
///     #[error(transparent)]
///     Database(#[from] sqlx::Error),
///
///     #[error(transparent)]
///     Idempotency(#[from] idem_runtime::Error),
///
///     #[error("{}", .0.message)]
///     #[failure(replayed)]
///     Recorded(StoredFailure),
/// }
///
/// let stored = PaymentError::Declined { code: 51 }.to_failure().expect("permanent");
/// assert_eq!((&*stored.class, &*stored.message), ("Declined", "card declined: 51"));
/// assert!(matches!(PaymentError::from_failure(stored), PaymentError::Declined { code: 51 }));
///
/// let unknown = StoredFailure::new("Frozen", "the account is frozen");
/// assert_eq!(PaymentError::from_failure(unknown).to_string(), "the account is frozen");
/// # }
/// ```
///
/// # By hand
///
/// ```
/// use idem_runtime::{Failure, StoredFailure};
///
/// enum PaymentError {
///     Declined,
///     Database(String),
///     Recorded(StoredFailure),
/// }
///
/// impl Failure for PaymentError {
///     fn to_failure(&self) -> Option<StoredFailure> {
///         match self {
///             Self::Declined => Some(StoredFailure::new("Declined", "card declined")),
///             Self::Recorded(failure) => Some(failure.clone()),
///             Self::Database(_) => None,
///         }
///     }
///
///     fn from_failure(failure: StoredFailure) -> Self {
///         match failure.class.as_str() {
///             "Declined" => Self::Declined,
///             _ => Self::Recorded(failure), // a class that this build does not know
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "[IDEM063] `failures = \"record\"` needs `{Self}` to implement `Failure`, which says which values are permanent",
    label = "if the error type is yours: add `#[derive(idem_runtime::Failure)]` to it, and `#[failure(permanent)]` to variants",
    note = "if it is another crate's, wrap it in a newtype of yours:\n    \
            struct PaymentError({Self});\n    \
            impl From<idem_runtime::Error> for PaymentError {{ fn from(error: idem_runtime::Error) -> Self {{ Self(error.into()) }} }}\n    \
            impl Failure for PaymentError {{\n        \
                fn to_failure(&self) -> Option<StoredFailure> {{ .. }} // `Some` if it is permanent\n        \
                fn from_failure(failure: StoredFailure) -> Self {{ .. }}\n    \
            }}",
    note = "or leave `failures` out: every `Err` is then rolled back, and the next call runs the body again"
)]
pub trait Failure: Sized {
    /// The versions in which failures are recorded, if there is more than one: an older class, or older fields, are
    /// converted before [`from_failure`](Self::from_failure) sees them. A failure of a newer version than this build
    /// knows is refused with [`Error::IncompatibleState`](crate::Error::IncompatibleState).
    const VERSIONS: Option<Versions<StoredFailure>> = None;

    /// Returns the failure to record if this value is permanent, or `None` if it is transient.
    fn to_failure(&self) -> Option<StoredFailure>;

    /// Rebuilds the error from a recorded failure of any class. The first caller and every retry
    /// get the rebuilt error.
    fn from_failure(failure: StoredFailure) -> Self;

    /// Returns whether `back`, rebuilt from this value's own failure, is of the same kind. If it
    /// returns `false`, the failure is not recorded and the call returns
    /// [`Error::NotStorable`](crate::Error::NotStorable). The derived implementation compares the
    /// variants; the default returns `true`.
    fn comes_back_as(&self, back: &Self) -> bool {
        let _ = back;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_survives_storage_with_and_without_its_optional_parts() {
        let bare = StoredFailure::new("Closed", "the account is closed");
        let full = bare
            .clone()
            .with_cause("by its owner")
            .with_data(serde_json::json!({"code": 7}));
        for failure in [bare, full] {
            let text = serde_json::to_vec(&failure).unwrap();
            assert_eq!(
                serde_json::from_slice::<StoredFailure>(&text).unwrap(),
                failure
            );
        }
    }

    #[test]
    fn absent_parts_are_not_written() {
        let text = serde_json::to_string(&StoredFailure::new("A", "b")).unwrap();
        assert_eq!(text, r#"{"class":"A","message":"b"}"#);
    }
}
