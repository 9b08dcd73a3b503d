//! `cargo xtask ide`: what rust-analyzer makes of handlers, finished and half-typed.
//!
//! Outside the tests, because rust-analyzer is no part of the toolchain and takes ten minutes to
//! build. That the expansion always holds the body is tested without it.

mod document;
mod laws;
mod server;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use self::document::Document;
use self::server::Server;
use crate::Outcome;
use crate::cargo::{cargo, root, run as run_command, target};

const VERSION: &str = "0.0.330";

pub(crate) fn run() -> Outcome {
    let program = program()?;
    let dir = target()?.join("ide");
    let source = generate(&dir)?;
    eprintln!("\n> {} in {}", program.display(), dir.display());
    let mut server = Server::start(&program, &dir)?;
    let mut document = Document::open(&mut server, &source)?;
    let mut broken = 0;
    for (law, holds) in laws::ALL {
        match holds(&mut document) {
            Ok(()) => println!("ok      {law}"),
            Err(error) => {
                broken += 1;
                println!("BROKEN  {law}\n        {error}");
            }
        }
    }
    server.stop()?;
    if broken == 0 {
        Ok(())
    } else {
        Err(format!("{broken} of {} laws are broken", laws::ALL.len()).into())
    }
}

/// The rust-analyzer that `RUST_ANALYZER` names, else one that is built once into the target
/// directory.
fn program() -> Outcome<PathBuf> {
    if let Some(named) = env::var_os("RUST_ANALYZER") {
        return Ok(named.into());
    }
    let tools = target()?.join("tools");
    let program = tools.join("bin/rust-analyzer");
    if !program.exists() {
        run_command(
            cargo()
                .args(["install", "--locked", "--debug", "ra_ap_rust-analyzer"])
                .args(["--version", VERSION, "--root"])
                .arg(&tools),
        )?;
    }
    Ok(program)
}

/// A small workspace that uses the attribute; returns its one source file.
fn generate(dir: &Path) -> Outcome<PathBuf> {
    let source = dir.join("src/lib.rs");
    fs::create_dir_all(dir.join("src"))?;
    fs::copy(root().join("Cargo.lock"), dir.join("Cargo.lock"))?;
    let runtime = root().join("idem-runtime");
    let manifest = format!(
        "\
[workspace]

[package]
name = \"ide\"
version = \"0.0.0\"
edition = \"2024\"

[dependencies]
idem-runtime = {{ path = \"{}\", features = [\"postgres\"] }}
serde = {{ version = \"1\", default-features = false, features = [\"std\", \"derive\"] }}
sqlx = {{ version = \"0.9\", default-features = false, features = [\"runtime-tokio\", \"postgres\"] }}
thiserror = \"2\"
",
        runtime.display()
    );
    fs::write(dir.join("Cargo.toml"), manifest)?;
    fs::write(&source, laws::finished())?;
    Ok(source)
}
