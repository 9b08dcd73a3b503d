//! What a failed check says.

use std::path::PathBuf;
use std::{fmt, io};

use super::compare::{Deviation, Differing, Effect};
use crate::edges::registry::SharedOperations;

/// Why a check of a lock file failed. The program and the file are as they were. `Display` says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockFault {
    /// The program and the file differ: an operation, its retention, its versions, or what it compares is in one and not
    /// in the other. `Display` says of each whether retries of calls begun before the deploy would be refused. Undo the
    /// change, or, if it is meant, write the file anew with `IDEM_LOCK=overwrite`.
    Differs(Differences),
    /// Two handlers of the program share an operation: a key used for one would be replayed by the other. It is found
    /// before the file is read. Give one of them another `operation`.
    Shared(SharedOperations),
    /// There is no file at this path yet. Write it with `IDEM_LOCK=overwrite`, and keep it in version control.
    Missing(PathBuf),
    /// The file at this path is no lock file of this version: not TOML, or with other members. Holds why. It may hold the
    /// marks of a merge; write it anew with `IDEM_LOCK=overwrite`.
    Syntax(PathBuf, String),
    /// The file at this path cannot be read or, under `IDEM_LOCK=overwrite`, written: rights, or a directory that is not
    /// there. Holds the system's error.
    Io(PathBuf, io::Error),
    /// The environment variable `IDEM_LOCK` has this value, and only `overwrite` has a meaning.
    Mode(String),
}

/// The differences between a lock file and a program.
#[derive(Debug)]
pub struct Differences {
    path: PathBuf,
    changes: Vec<Deviation>,
}

impl Differences {
    pub(super) fn new(path: PathBuf, changes: Vec<Deviation>) -> Self {
        Self { path, changes }
    }

    /// Returns whether retries of calls begun before the deploy would be refused, as far as the shapes tell.
    pub fn refuse_retries(&self) -> bool {
        self.changes.iter().any(Deviation::refuses)
    }
}

impl fmt::Display for LockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs(differences) => differences.fmt(f),
            Self::Shared(shared) => shared.fmt(f),
            Self::Missing(path) => write!(
                f,
                "there is no lock file `{}` yet\nwrite it, and keep it in version control: IDEM_LOCK=overwrite cargo test",
                path.display()
            ),
            Self::Syntax(path, why) => write!(
                f,
                "the lock file `{}` cannot be understood: {why}",
                path.display()
            ),
            Self::Io(path, error) => write!(f, "the lock file `{}`: {error}", path.display()),
            Self::Mode(mode) => write!(
                f,
                "`IDEM_LOCK={mode}` has no meaning: `IDEM_LOCK=overwrite` writes the lock file, and without the variable it is compared"
            ),
        }
    }
}

impl std::error::Error for LockFault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the handlers of this program are not those of `{}`",
            self.path.display()
        )?;
        for change in &self.changes {
            write!(f, "\n\n{change}")?;
        }
        f.write_str(if self.refuse_retries() {
            "\n\nIf retries from before the deploy may be refused, write the file anew: IDEM_LOCK=overwrite cargo test"
        } else {
            "\n\nWrite the file anew: IDEM_LOCK=overwrite cargo test"
        })
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (namespace, name) = &self.name;
        write!(f, "`{name}` in namespace `{namespace}`")?;
        if let Some(source) = &self.source {
            write!(f, " ({source})")?;
        }
        for line in &self.lines {
            match line {
                Differing::Gone(text) => write!(f, "\n  - {text}")?,
                Differing::New(text) => write!(f, "\n  + {text}")?,
            }
        }
        for consequence in &self.consequences {
            let effect = match consequence.effect {
                Effect::Refuses => "refuses retries begun before the deploy",
                Effect::RunsAgain => "runs the bodies of retries begun before the deploy again",
                Effect::MayRefuse => "may refuse retries",
                Effect::Safe => "compatible",
            };
            write!(f, "\n  {effect}: {}", consequence.reason)?;
            if let Some(instead) = &consequence.instead {
                write!(f, "\n    instead: {instead}")?;
            }
        }
        Ok(())
    }
}
