//! Why a page cannot be shown: a status, a sentence, and what mends it.

use http::StatusCode;
use idem_runtime::error::{Error, ErrorKind, SchemaFault};
use idem_runtime::operate::OperateError;

/// Why a page cannot be shown, or a change was not made.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) sentence: String,
    pub(crate) mend: Option<String>,
}

impl Fault {
    pub(crate) fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        Self {
            status,
            sentence: sentence.into(),
            mend: None,
        }
    }

    /// Says what mends it.
    pub(crate) fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }

    pub(crate) fn not_found(sentence: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, sentence)
    }

    pub(crate) fn bad(sentence: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, sentence)
    }

    pub(crate) fn forbidden(sentence: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, sentence)
    }

    /// The record is not the one that the page showed.
    pub(crate) fn changed() -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "The record has changed since your page was made. Nothing was changed.",
        )
        .mend("Look at the record again.")
    }

    /// No dead event is the one that the page showed.
    pub(crate) fn changed_event() -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "There is no such dead event any more. Nothing was changed.",
        )
        .mend("Look at the outbox again.")
    }

    /// The database has not answered in time.
    pub(crate) fn late() -> Self {
        Self::unavailable("The database does not answer in time.")
    }

    /// It has not answered to a change in time.
    pub(crate) fn change_late() -> Self {
        Self::unavailable(
            "The database has not answered in time. The change may have been made, or may still be.",
        )
        .mend("Look at the record or the event again; its changes are listed there.")
    }

    fn unavailable(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, sentence)
            .mend("Check that the database runs, and that this process can reach it.")
    }

    fn broken(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, sentence)
    }
}

impl From<OperateError> for Fault {
    fn from(error: OperateError) -> Self {
        match error {
            OperateError::Library(error) => error.into(),
            OperateError::Changed => Self::changed(),
            OperateError::AuditTable { table, found } => Self::broken(format!(
                "The table {table} cannot take the row that says who changed what ({found}). Nothing was changed."
            ))
            .mend("Run its migration: idem schema print --only audit"),
            OperateError::WrongStatus { .. } | OperateError::Live { .. } => {
                Self::new(StatusCode::CONFLICT, sentence(&error.to_string()))
            }
            error => Self::bad(&sentence(&error.to_string())),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match &error {
            Error::Schema(SchemaFault::TableMissing { table }) => Self::broken(format!(
                "The table {table} does not exist."
            ))
            .mend("Run its migration (idem schema print), or name another table."),
            Error::Schema(SchemaFault::Columns { table }) => Self::broken(format!(
                "The table {table} is of another version: it lacks a column."
            ))
            .mend("Run its migrations (idem schema print shows what it must be), or use the console of its version."),
            Error::PermissionDenied {
                table, privilege, ..
            } => Self::broken(format!("The database's account lacks {privilege} on {table}."))
                .mend(format!("GRANT {privilege} ON {table} TO the account")),
            Error::Unavailable(_) | Error::Busy { .. } => Self::unavailable("The database cannot be reached."),
            Error::ReadOnly(_) => Self::broken("The database accepts no writes. Nothing was changed.")
                .mend("Connect the console to the primary."),
            Error::LeaseLost => Self::changed(),
            Error::CommitUnknown(_) => Self::change_late(),
            Error::UnknownState { .. } => Self::broken(sentence(&error.to_string()))
                .mend("Use the console of the newest version among the services."),
            _ if error.kind() == ErrorKind::Invalid => Self::bad(&sentence(&error.to_string())),
            // The text of another error of the database may quote a value.
            Error::Database(cause) => Self::broken(format!(
                "The database has refused a statement (code {}). Nothing was changed.",
                cause.code().as_deref().unwrap_or("none")
            ))
            .mend("`idem doctor` examines the database."),
            _ if error.is_retryable() => Self::unavailable(sentence(&error.to_string())),
            _ => Self::broken(sentence(&error.to_string())),
        }
    }
}

/// Begins with a capital letter and ends with a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    let stop = if text.ends_with('.') { "" } else { "." };
    format!(
        "{}{}{stop}",
        first.map(String::from).unwrap_or_default(),
        letters.as_str()
    )
}
