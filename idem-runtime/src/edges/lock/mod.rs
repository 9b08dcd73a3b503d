//! A lock file of what handlers compare and record (feature `lock`), for a test that fails before a deploy does.
//!
//! A retry must repeat its request, by the *names* and values of what is compared. After a rename of an operation, a
//! parameter or a field, retries of calls begun before the deploy are refused. [`check!`] compares the
//! handlers of the program with a file, `idem.lock` beside the crate's manifest, and says what would be refused:
//!
//! ```no_run
//! // in a test
//! idem_runtime::lock::check!();
//! ```
//!
//! `IDEM_LOCK=overwrite cargo test` writes the file, first and after each change that is meant. It lists for each
//! operation its namespace and name, the parts of each compared parameter, the versions of its result, and its
//! retention. The parts are known of a type that implements [`schemars::JsonSchema`]; any other type
//! stands there as written, and is marked opaque. Opaque too are the parameters of a method and those whose type names
//! a type parameter.
//!
//! Enable the feature for tests alone, so that the program does not contain the schemas:
//!
//! ```toml
//! [dev-dependencies]
//! idem-runtime = { path = "…/idem-runtime", features = ["lock"] }
//! ```
//!
//! If the test does not refer to a crate, that crate and its handlers are not linked into it. Therefore an operation of
//! the file that the program does not have is a failure. `use my_handlers as _;` links a crate.
//!
//! Handlers are found as in the [`registry`](crate::registry), and two of them with one operation are reported as
//! there. An [`Operation`](crate::Operation) that runs without the attribute is not in the file.

mod compare;
mod file;
mod names;
mod report;
mod shape;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

pub use self::report::LockFault;
use crate::edges::registry;
#[doc(inline)]
pub use __lock_check as check;

/// The variable that decides whether the file is compared or written.
pub const VARIABLE: &str = "IDEM_LOCK";

#[doc(hidden)]
#[track_caller]
pub fn assert_same(path: PathBuf) {
    if let Err(fault) = compare(path) {
        panic!("{fault}");
    }
}

/// Does what [`check!`] does with the file at `path`, without a panic.
///
/// # Errors
/// [`LockFault`] if the file and the program differ, if two handlers share an operation, if the file cannot be read or
/// written, or if the variable [`VARIABLE`] has another value than `overwrite`.
pub fn compare(path: impl AsRef<Path>) -> Result<(), LockFault> {
    let mode = env::var_os(VARIABLE);
    let overwrites = match mode.as_deref() {
        None => false,
        Some(mode) if mode == "overwrite" => true,
        Some(mode) if mode.is_empty() => false,
        Some(other) => return Err(LockFault::Mode(other.to_string_lossy().into_owned())),
    };
    registry::check().map_err(LockFault::Shared)?;
    let path = path.as_ref();
    let program = file::of_program(registry::handlers());
    if overwrites {
        let text = file::write(&program);
        return fs::write(path, text).map_err(|error| LockFault::Io(path.to_owned(), error));
    }
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(LockFault::Missing(path.to_owned()));
        }
        Err(error) => return Err(LockFault::Io(path.to_owned(), error)),
    };
    let file = file::read(&text).map_err(|why| LockFault::Syntax(path.to_owned(), why))?;
    let changes = compare::compare(&file, &program);
    if changes.is_empty() {
        Ok(())
    } else {
        Err(LockFault::Differs(report::Differences::new(
            path.to_owned(),
            changes,
        )))
    }
}

#[cfg(test)]
mod tests;
