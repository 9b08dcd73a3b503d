//! Compares a measurement with the bounds in a file, or replaces them.

use std::path::Path;
use std::{env, fs};

use crate::table::{Table, Verdict};

/// The variable that, set to `overwrite`, replaces the bounds instead of comparing with them.
pub const BLESS: &str = "IDEM_COST";

/// Compares with the bounds in this file, and prints which of them are to be lowered. `bless` is the command that replaces
/// them.
///
/// # Panics
/// Panics if a cost is above its bound, or if the file cannot be read or written.
#[track_caller]
pub fn expect_within(measured: &Table, file: &Path, bless: &str) {
    if env::var_os(BLESS).is_some_and(|value| value == "overwrite") {
        fs::write(file, measured.to_string()).expect("the bounds can be written");
        return;
    }
    let bounds = fs::read_to_string(file).expect("the bounds can be read");
    let bounds: Table = bounds.parse().expect("the bounds are a table");
    let verdict = Verdict::of(measured, &bounds, bless);
    for line in &verdict.lower {
        println!("{line}");
    }
    assert!(verdict.faults.is_empty(), "\n{}", verdict.faults.join("\n"));
}
