//! `cargo xtask check`: runs every check of the source that needs no database.

use crate::cargo::{APART, EXAMPLE, Steps, cargo, workspace};
use crate::features::{self, Pairs};
use crate::{Outcome, deny, machine};

const DENY_WARNINGS: [&str; 3] = ["--", "-D", "warnings"];

pub(crate) fn run(pairs: Pairs) -> Outcome {
    machine::provide_compiler()?;
    let mut steps = Steps::default();
    steps.perform(cargo().args(["fmt", "--all", "--check"]));
    for apart in [
        "fuzz/engine/Cargo.toml",
        "bench/peers/Cargo.toml",
        "bench/peers/durare/Cargo.toml",
    ] {
        steps.perform(cargo().args(["fmt", "--check", "--manifest-path", apart]));
    }
    steps.perform(
        workspace(cargo().arg("clippy"))
            .arg("--all-targets")
            .args(DENY_WARNINGS),
    );
    for member in APART.into_iter().chain([EXAMPLE]) {
        steps.perform(
            cargo()
                .args(["clippy", "--package", member, "--all-targets"])
                .args(DENY_WARNINGS),
        );
    }
    steps.perform(workspace(cargo().args(["doc", "--no-deps"])).env("RUSTDOCFLAGS", "-D warnings"));
    for package in [
        "idem-runtime",
        "idem-tower",
        "idem-axum",
        "idem-actix",
        "idem-client",
        "idem-jsonrpc",
        "idem-mcp",
        "idem-tonic",
        "idem-messaging",
        "idem-console",
    ] {
        for set in features::sets(package, pairs)? {
            // Clippy passes the flags to this crate only, so its dependencies are not rebuilt.
            steps.perform(
                cargo()
                    .args(["clippy", "--package", package, "--no-default-features"])
                    .args(["--features", &set])
                    .args(DENY_WARNINGS),
            );
        }
    }
    steps.note(deny::run_checks());
    steps.finish()
}
