//! Why a command was not done: one sentence, the line that mends it, and the exit code.

use std::process::ExitCode;

use idem_runtime::error::{Error, ErrorKind, Invalid, SchemaFault};
use idem_runtime::operate::OperateError;
use serde_json::json;

/// How a command that was done ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit code 0.
    Done,
    /// Exit code 1: something was found, or nothing was.
    Found,
}

impl Outcome {
    pub(crate) fn exit_code(self) -> ExitCode {
        match self {
            Self::Done => ExitCode::SUCCESS,
            Self::Found => ExitCode::from(1),
        }
    }
}

/// Why a command was not done.
#[derive(Debug)]
pub(crate) struct Fault {
    code: u8,
    sentence: String,
    mend: Option<String>,
}

impl Fault {
    /// The change was refused: exit code 1.
    pub(crate) fn refused(sentence: impl Into<String>) -> Self {
        Self::new(1, sentence)
    }

    /// The command line is wrong: exit code 2.
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self::new(2, sentence)
    }

    /// The database cannot serve it: exit code 3.
    pub(crate) fn environment(sentence: impl Into<String>) -> Self {
        Self::new(3, sentence)
    }

    fn new(code: u8, sentence: impl Into<String>) -> Self {
        Self {
            code,
            sentence: sentence.into(),
            mend: None,
        }
    }

    /// Adds the line that mends it.
    pub(crate) fn mend(mut self, line: impl Into<String>) -> Self {
        self.mend = Some(line.into());
        self
    }

    /// Says that rows were deleted by earlier transactions of the same command, in place of the promise that nothing was
    /// changed.
    pub(crate) fn after(mut self, rows: u64) -> Self {
        if rows > 0 {
            let then = self
                .sentence
                .replace("; nothing was changed", "")
                .replace("; nothing was written", "");
            self.sentence = format!(
                "records deleted before, with their rows of the audit table: {rows}; then this stopped it: {then}"
            );
        }
        self
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }

    /// Prints the fault to the error stream.
    pub(crate) fn print(&self, is_json: bool) {
        if is_json {
            let fault = json!({
                "error": self.sentence,
                "mend": self.mend,
                "exit_code": self.code,
            });
            eprintln!("{fault}");
            return;
        }
        eprintln!("idem: {}", self.sentence);
        if let Some(mend) = &self.mend {
            eprintln!("mend: {mend}");
        }
    }
}

impl From<OperateError> for Fault {
    fn from(error: OperateError) -> Self {
        match error {
            OperateError::Library(error) => error.into(),
            OperateError::AuditTable { .. } => Self::environment(error.to_string())
                .mend("idem schema print --only audit | your migration tool"),
            OperateError::WrongStatus { .. }
            | OperateError::Live { .. }
            | OperateError::Protected
            | OperateError::Changed
            | OperateError::Held
            | OperateError::AlreadyHeld
            | OperateError::NotHeld
            | OperateError::NotFinal { .. } => Self::refused(error.to_string()),
            OperateError::HoldTable { .. } => Self::environment(error.to_string())
                .mend("idem schema print --only hold | your migration tool"),
            OperateError::Partly { rows, cause } => Self::from(*cause).after(rows),
            _ => Self::usage(error.to_string()),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match &error {
            Error::Schema(fault) => of_schema(fault),
            Error::PermissionDenied {
                table, privilege, ..
            } => Self::environment(format!(
                "the account of the URL lacks {privilege} on `{table}`; nothing was changed"
            ))
            .mend(format!("GRANT {privilege} ON {table} TO <the account>")),
            Error::Unavailable(cause) => {
                Self::environment(format!("the database cannot be reached: {}", cause.cause()))
                    .mend(
                        "check host, port, account and password of the URL (--url or DATABASE_URL)",
                    )
            }
            Error::Database(cause) if is_denied(cause.code().as_deref()) => {
                Self::environment("the account of the URL may not do this; nothing was changed")
                    .mend(
                        "GRANT SELECT, INSERT, UPDATE, DELETE on the tables of idem to the account",
                    )
            }
            Error::ReadOnly(_) => {
                Self::environment("the server accepts no writes; nothing was changed")
                    .mend("use the URL of the primary")
            }
            Error::UnknownState { .. } => Self::environment(error.to_string())
                .mend("use the `idem` of the newest version among the services"),
            Error::LeaseLost => {
                Self::refused("the record has changed since it was read; nothing was changed")
            }
            Error::CommitUnknown(_) => {
                Self::environment("the answer to COMMIT was lost: the change may have been made")
                    .mend("idem show, and the same command again if it was not")
            }
            _ if error.kind() == ErrorKind::Invalid => Self::usage(error.to_string()),
            _ => Self::environment(error.to_string()),
        }
    }
}

/// MySQL's and MariaDB's SQLSTATE of a missing privilege.
fn is_denied(code: Option<&str>) -> bool {
    code.is_some_and(|code| ["42000", "28000", "42501"].contains(&code))
}

fn of_schema(fault: &SchemaFault) -> Fault {
    match fault {
        SchemaFault::TableMissing { table } => Fault::environment(format!(
            "the table `{table}` does not exist; nothing was changed"
        ))
        .mend("idem schema print | your migration tool, or name another table with --table"),
        SchemaFault::Columns { table } => Fault::environment(format!(
            "the table `{table}` is not of this version: it lacks a column; nothing was changed"
        ))
        .mend("idem schema print shows what it must be; or use the `idem` of its version"),
        fault => {
            let found = Fault::environment(fault.to_string());
            match fault.fix() {
                Some(fix) => found.mend(fix),
                None => found,
            }
        }
    }
}

impl From<Invalid> for Fault {
    fn from(invalid: Invalid) -> Self {
        Error::from(invalid).into()
    }
}
