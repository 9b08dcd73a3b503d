//! Runs a program under callgrind, and reads the profile.
//!
//! Callgrind executes the instructions itself, so the counts are the same on every machine that it treats as the same
//! processor, however busy or slow. They do not include the kernel.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::table::{Cost, Table};

/// Runs a program that prints a [`Ledger`](crate::Ledger), and returns the cost of each of its stretches.
///
/// `module` is the path of the module of stretches as symbols spell it, `profile` a file to write, and `variables` are the
/// environment variables that the program gets besides `PATH`.
///
/// # Panics
/// Panics if there is no valgrind on this machine, or if the program fails.
pub fn measure(
    program: &Path,
    arguments: &[&str],
    variables: &[&str],
    module: &str,
    profile: &Path,
) -> Table {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .args(["--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program)
        .args(arguments)
        // A variable of libpq, for example, would have an effect, too.
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| {
            name == "PATH" || variables.iter().any(|variable| name == variable)
        }))
        .stderr(Stdio::inherit())
        .output()
        .expect("valgrind can be run: `cargo xtask cost` installs it");
    assert!(output.status.success(), "{}", output.status);
    let allocated = String::from_utf8(output.stdout).expect("the program prints text");
    let profile = fs::read(profile).expect("callgrind has written its profile");
    let profile = String::from_utf8_lossy(&profile);
    let lines = allocated.lines().map(|line| {
        let words: Vec<_> = line.split(' ').collect();
        let [name, allocations, bytes] = words[..] else {
            panic!("not a stretch: {line}");
        };
        let number = |text: &str| text.parse().expect("a number");
        let instructions = instructions_inside(&profile, &format!("{module}::{name}"))
            .unwrap_or_else(|| panic!("callgrind found no calls of {name}"));
        let cost = Cost {
            instructions,
            allocations: number(allocations),
            bytes: number(bytes),
        };
        (name.to_owned(), cost)
    });
    Table(lines.collect())
}

/// Counts the instructions that were executed inside the calls of a function, its own and its
/// callees'. The function must not be recursive.
///
/// In the format, a call consists of a line `cfn=` with the function's name, a line that begins
/// with `calls=`, and a line whose last number is the inclusive cost.
fn instructions_inside(profile: &str, function: &str) -> Option<u64> {
    let mut lines = profile.lines();
    let mut sum = None;
    while let Some(line) = lines.next() {
        if line.strip_prefix("cfn=") != Some(function) {
            continue;
        }
        let cost = lines
            .by_ref()
            .skip_while(|line| !line.starts_with("calls="))
            .nth(1)?;
        let cost: u64 = cost.split(' ').next_back()?.parse().ok()?;
        sum = Some(sum.unwrap_or(0) + cost);
    }
    sum
}

#[test]
fn calls_from_everywhere_are_added_up_and_other_functions_left_out() {
    let profile = "fn=a\n0 5\ncfi=x\ncfn=m::hash\ncalls=2 0\n0 100\n\
                   cfn=m::hash_of\ncalls=1 0\n0 7\n\nfn=b\ncfn=m::hash\ncalls=1 3\n+4 20\n";
    assert_eq!(instructions_inside(profile, "m::hash"), Some(120));
    assert_eq!(instructions_inside(profile, "m::none"), None);
}
