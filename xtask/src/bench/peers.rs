//! Measures the same work by other libraries. They are separate crates (`bench/peers`), so that
//! other builds do not compile them.

use idem_tests_cluster::Binaries;

use crate::cargo::{cargo, root, run as run_command, target};
use crate::{Outcome, machine};

/// Builds durare's program and the bench, and runs it. The remaining arguments are passed to the
/// bench.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    machine::provide_compiler()?;
    let postgres = machine::provide_postgres()?;
    machine::provide_redis()?;
    let built = target()?.join("peers");
    let manifests = root().join("bench/peers");
    run_command(
        cargo()
            .args(["build", "--release", "--locked", "--manifest-path"])
            .arg(manifests.join("durare/Cargo.toml"))
            .arg("--target-dir")
            .arg(&built),
    )?;
    // The crate `idempotent` declares a newer Rust than the pinned one, but the pinned one builds
    // it.
    run_command(
        cargo()
            .args(["run", "--release", "--locked", "--ignore-rust-version"])
            .arg("--manifest-path")
            .arg(manifests.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&built)
            .arg("--")
            .args(arguments)
            .arg("--out")
            .arg(target()?.join("bench"))
            .arg("--durare")
            .arg(built.join("release/idem-bench-durare"))
            .env(Binaries::VARIABLES[0], postgres.dir()),
    )
}
