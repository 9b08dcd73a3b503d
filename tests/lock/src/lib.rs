//! What the programs in `bin` share: each compares its handlers with the lock file that it is given.

use std::env;
use std::process::ExitCode;

/// Compares the handlers of this program with the file that the first argument names, and prints what differs.
///
/// # Panics
/// Panics without an argument.
pub fn compare() -> ExitCode {
    let path = env::args().nth(1).expect("the path of a lock file");
    match idem_runtime::lock::compare(path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            println!("{fault}");
            ExitCode::FAILURE
        }
    }
}
