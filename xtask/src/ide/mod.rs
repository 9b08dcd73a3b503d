//! `cargo xtask ide`: checks how rust-analyzer treats handlers, finished and half-typed.
//!
//! It is not one of the tests, because rust-analyzer is not part of the toolchain and takes ten
//! minutes to build. The tests check without it that the expansion always contains the body.

mod document;
mod laws;
mod server;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    let mut server = Server::start(&program, &dir, &library()?)?;
    let mut document = Document::open(&mut server, &source, laws::finished())?;
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

/// Returns the rust-analyzer that `RUST_ANALYZER` names, or one that is built once into the target
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

/// Returns the sources of the standard library: the toolchain's if it has them, else those of a
/// toolchain that is installed beside it.
///
/// rust-analyzer would add them to the pinned toolchain. The compiler would then quote them in its
/// messages, and the ui cases would fail.
fn library() -> Outcome<PathBuf> {
    let sysroot = Command::new("rustc")
        .current_dir(root())
        .args(["--print", "sysroot"])
        .output()?;
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout)?.trim());
    let in_toolchain = |toolchain: &Path| toolchain.join("lib/rustlib/src/rust/library");
    if in_toolchain(&sysroot).exists() {
        return Ok(in_toolchain(&sysroot));
    }
    let rustup_home = target()?.join("tools/rustup");
    let toolchains = rustup_home.join("toolchains");
    if !toolchains.exists() {
        let pinned = fs::read_to_string(root().join("rust-toolchain.toml"))?;
        let channel = pinned.split('"').nth(1).ok_or("no channel is pinned")?;
        run_command(
            Command::new("rustup")
                .env("RUSTUP_HOME", &rustup_home)
                .args(["toolchain", "install", channel, "--no-self-update"])
                .args(["--profile", "minimal", "--component", "rust-src"]),
        )?;
    }
    let toolchain = fs::read_dir(&toolchains)?.next();
    Ok(in_toolchain(&toolchain.ok_or("no toolchain")??.path()))
}

/// Writes a small workspace that uses the attribute. Returns its only source file.
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
