//! The project's own chores: `cargo xtask test` and its kin.

fn main() {}
