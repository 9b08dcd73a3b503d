//! `cargo xtask package`: packs every crate that is published and builds it from its package.
//!
//! Cargo verifies each crate against the packages of the others, as a registry would serve them. It packs what is
//! committed, and refuses a working tree with changes.

use crate::Outcome;
use crate::cargo::{Steps, cargo, metadata};

pub(crate) fn run() -> Outcome {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut pack = cargo();
    pack.args(["package", "--all-features"]);
    for package in packages {
        // `publish = false` is an empty list of registries.
        if package["publish"].is_null()
            && let Some(name) = package["name"].as_str()
        {
            pack.args(["--package", name]);
        }
    }
    let mut steps = Steps::default();
    steps.perform(&mut pack);
    steps.finish()
}
