//! `cargo xtask guide`: builds the pages of `docs` as a book.
//!
//! It is not one of the checks: the pages are read where they are, their code runs as tests, and a test follows their
//! links. mdBook only gives them a table of contents and a search.

use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::cargo::{cargo, root, run as run_command, target};

const VERSION: &str = "0.5.4";

pub(crate) fn run() -> Outcome {
    let book = target()?.join("guide");
    run_command(
        Command::new(program()?)
            .arg("build")
            .arg(root().join("docs"))
            .arg("--dest-dir")
            .arg(&book),
    )?;
    println!("{}", book.join("index.html").display());
    Ok(())
}

/// Returns an mdBook that is built once into the target directory.
fn program() -> Outcome<PathBuf> {
    let tools = target()?.join("tools");
    let program = tools.join("bin/mdbook");
    if !program.exists() {
        run_command(
            cargo()
                .args(["install", "--locked", "mdbook"])
                .args(["--no-default-features", "--features", "search"])
                .args(["--version", VERSION, "--root"])
                .arg(&tools),
        )?;
    }
    Ok(program)
}
