//! What a failed check says.

use std::path::PathBuf;
use std::{fmt, io};

use super::compare::{Deviation, Differing, Effect};
use crate::edges::registry::SharedOperations;

/// Why a lock file does not hold. Nothing was changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockFault {
    /// The program and the file differ.
    Differs(Differences),
    /// Two handlers share an operation.
    Shared(SharedOperations),
    /// There is no file yet.
    Missing(PathBuf),
    /// The file is not one of these.
    Syntax(PathBuf, String),
    /// The file cannot be read or written.
    Io(PathBuf, io::Error),
    /// The variable has another value than `overwrite`.
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
