//! Runs one law under libFuzzer: the target that `IDEM_FUZZ_TARGET` names.

#![no_main]

use std::env;
use std::sync::LazyLock;

use idem_fuzz::{Target, target};
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = env::var("IDEM_FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| panic!("IDEM_FUZZ_TARGET names no target: `{name}`"))
});

fuzz_target!(|input: &[u8]| (TARGET.law)(input));
