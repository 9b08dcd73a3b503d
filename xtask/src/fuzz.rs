//! `cargo xtask fuzz`: searches, guided by coverage, for inputs that break a law of `fuzz/`.

use std::fs;
use std::process::Command;

use crate::cargo::{cargo, root, run, target};
use crate::{Outcome, machine};

/// The instrumentation that libFuzzer needs: the edges taken and the values compared. The flags are
/// rustc's stable ones. Memory is not instrumented, since the library forbids unsafe code.
const INSTRUMENTS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

const SECONDS: u32 = 60;

/// Runs one target, or each in turn, for the given number of seconds.
pub(crate) fn run_targets(arguments: &[String]) -> Outcome {
    let (seconds, wanted) = match arguments {
        [flag, seconds, rest @ ..] if flag == "--seconds" => (seconds.parse()?, rest),
        rest => (SECONDS, rest),
    };
    let corpus = root().join("fuzz/corpus");
    let mut targets = Vec::new();
    for entry in fs::read_dir(&corpus)? {
        targets.push(entry?.file_name().to_string_lossy().into_owned());
    }
    targets.sort();
    match wanted {
        [] => {}
        [one] if targets.contains(one) => targets = vec![one.clone()],
        _ => {
            let targets = targets.join(", ");
            return Err(format!("`fuzz [--seconds N] [target]`; the targets: {targets}").into());
        }
    }
    machine::provide_cxx_compiler()?;
    let built = target()?.join("fuzz");
    let host = host()?;
    // With `--target`, build scripts and macros are built without instrumentation, as they must be.
    run(cargo()
        .args(["build", "--release", "--target", &host, "--target-dir"])
        .arg(&built)
        .current_dir(root().join("fuzz/engine"))
        .env("RUSTFLAGS", INSTRUMENTS))?;
    for target in targets {
        // libFuzzer writes new inputs to the first folder; the folder in the repository is only
        // read.
        let found = built.join("found").join(&target);
        fs::create_dir_all(&found)?;
        let artifacts = format!("-artifact_prefix={}/", built.display());
        run(Command::new(built.join(&host).join("release/fuzz"))
            .env("IDEM_FUZZ_TARGET", &target)
            .arg(found)
            .arg(corpus.join(&target))
            .args([&*artifacts, "-max_len=2048", "-print_final_stats=1"])
            .arg(format!("-max_total_time={seconds}")))?;
    }
    Ok(())
}

/// Returns rustc's default target.
fn host() -> Outcome<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let reported = String::from_utf8(output.stdout)?;
    let host = reported
        .lines()
        .find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("`rustc -vV` prints no host")?.to_owned())
}
