//! The public surface of each published library, held against the list in this folder.
//!
//! `IDEM_SURFACE=overwrite cargo test -p idem-tests-surface` writes the lists anew. Leaves out what
//! `#[doc(hidden)]` hides, and what every type has: blanket, auto and derived implementations.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A rustdoc that takes unstable options, though the toolchain is a stable one. Set for cargo as a whole, the
/// variable would build every dependency anew.
fn rustdoc(folder: &Path) -> PathBuf {
    let program = folder.join("rustdoc.sh");
    let script = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";
    fs::write(&program, script).expect("a folder that can be written to");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("a file of ours");
    program
}

/// What `cargo rustdoc` says of a library with all its features, as JSON.
fn json(package: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(package);
    fs::create_dir_all(&folder).expect("a folder that can be made");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root())
        .env("RUSTDOC", rustdoc(&folder))
        .args(["rustdoc", "--package", package, "--lib", "--all-features"])
        .arg("--target-dir")
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("target"))
        .args(["--", "-Zunstable-options", "--output-format", "json"])
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let name = format!("{}.json", package.replace('-', "_"));
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("target/doc")
        .join(name)
}

/// Compares the surface of a library with its list.
fn expect_unchanged(package: &str) {
    let surface = public_api::Builder::from_rustdoc_json(json(package))
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .expect("the format of the pinned toolchain");
    let surface: Vec<_> = surface.items().map(|item| format!("{item}\n")).collect();
    let (surface, file) = (
        surface.concat(),
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{package}.txt")),
    );
    if env::var_os("IDEM_SURFACE").is_some_and(|value| value == "overwrite") {
        fs::write(&file, &surface).expect("the list can be written");
    }
    let listed = fs::read_to_string(&file).unwrap_or_default();
    let only = |these: &str, those: &str| {
        let lines = these
            .lines()
            .filter(|line| !those.lines().any(|l| l == *line));
        lines.collect::<Vec<_>>().join("\n  ")
    };
    assert!(
        surface == listed,
        "the public surface of {package} is not what {} lists\n\nnew:\n  {}\n\ngone:\n  {}\n\n\
         if that is meant: IDEM_SURFACE=overwrite cargo test -p idem-tests-surface",
        file.display(),
        only(&surface, &listed),
        only(&listed, &surface),
    );
}

#[test]
fn the_surface_of_the_runtime_is_the_listed_one() {
    expect_unchanged("idem-runtime");
}

#[test]
fn the_surface_of_the_console_is_the_listed_one() {
    expect_unchanged("idem-console");
}

#[test]
fn the_surface_of_the_axum_edge_is_the_listed_one() {
    expect_unchanged("idem-axum");
}

#[test]
fn the_surface_of_the_json_rpc_edge_is_the_listed_one() {
    expect_unchanged("idem-jsonrpc");
}

#[test]
fn the_surface_of_the_mcp_edge_is_the_listed_one() {
    expect_unchanged("idem-mcp");
}

#[test]
fn the_surface_of_the_grpc_edge_is_the_listed_one() {
    expect_unchanged("idem-tonic");
}

#[test]
fn the_surface_of_the_client_is_the_listed_one() {
    expect_unchanged("idem-client");
}

#[test]
fn the_surface_of_the_tower_edge_is_the_listed_one() {
    expect_unchanged("idem-tower");
}

#[test]
fn the_surface_of_the_actix_edge_is_the_listed_one() {
    expect_unchanged("idem-actix");
}
