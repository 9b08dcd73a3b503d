//! `cargo xtask bench <what>`: measurements. They fail only if they cannot be made.

mod compile;

use crate::Outcome;

pub(crate) fn run(arguments: &[String]) -> Outcome {
    match arguments {
        [what] if what == "compile" => compile::run(),
        _ => Err("usage: cargo xtask bench compile".into()),
    }
}
