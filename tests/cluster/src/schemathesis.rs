//! Finds schemathesis, which tests a service against its OpenAPI document.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::is_root;

/// The release that the tests are written for.
pub const RELEASE: &str = "schemathesis==4.32.5";

/// The directory in which `cargo xtask test` installs it for root.
const PLACE_FOR_ROOT: &str = "/var/cache/idem-tests/schemathesis";

/// Returns the directory in which `cargo xtask test` installs it and the packages that it needs.
///
/// # Errors
///
/// Returns an error if the account of this process cannot be determined.
pub fn path() -> io::Result<PathBuf> {
    if is_root()? {
        return Ok(PLACE_FOR_ROOT.into());
    }
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    Ok(target.unwrap_or(workspace).join("tools/schemathesis"))
}

/// Returns the program, without arguments.
///
/// # Errors
///
/// Returns an error if it is not installed. The text says how to install it.
pub fn command() -> io::Result<Command> {
    let path = path()?;
    if !path.join("schemathesis").is_dir() {
        return Err(io::Error::other(format!(
            "there is no schemathesis in {}: run `cargo xtask test`, or `python3 -m pip install --target {} {RELEASE}`",
            path.display(),
            path.display(),
        )));
    }
    let mut command = Command::new("python3");
    command
        .args(["-m", "schemathesis.cli"])
        .env("PYTHONPATH", path);
    Ok(command)
}
