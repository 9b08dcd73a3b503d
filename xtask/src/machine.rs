//! What the machine must have beyond a Rust toolchain, and how a bare Debian machine gets it.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use idem_tests_cluster::{Binaries, is_root, mariadb};

use crate::Outcome;

/// Sees to a C compiler, which builds the SQLite that the library brings along.
pub(crate) fn provide_compiler() -> Outcome {
    if compiler_works() {
        return Ok(());
    }
    install(&["gcc", "libc6-dev"])?;
    if compiler_works() {
        Ok(())
    } else {
        Err("there is no working C compiler, `cc`, although gcc and libc6-dev are installed".into())
    }
}

/// Sees to the programs of a PostgreSQL server and finds them.
pub(crate) fn provide_postgres() -> Outcome<Binaries> {
    let named = Binaries::VARIABLES
        .into_iter()
        .find(|name| env::var_os(name).is_some());
    match Binaries::find() {
        Ok(found) => Ok(found),
        // What the user said is not overruled by an installation.
        Err(error) if named.is_some() => Err(error.into()),
        Err(_) => {
            without_a_running_server(|| install(&["postgresql"]))?;
            Ok(Binaries::find()?)
        }
    }
}

/// Sees to the programs of a MariaDB server and finds them.
pub(crate) fn provide_mariadb() -> Outcome<mariadb::Binaries> {
    match mariadb::Binaries::find() {
        Ok(found) => Ok(found),
        Err(error) if env::var_os(mariadb::Binaries::VARIABLE).is_some() => Err(error.into()),
        Err(_) => {
            without_started_services(|| install(&["mariadb-server"]))?;
            Ok(mariadb::Binaries::find()?)
        }
    }
}

fn compiler_works() -> bool {
    Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn install(packages: &[&str]) -> Outcome {
    let names = packages.join(" ");
    if !is_root()? {
        return Err(format!(
            "this machine lacks: {names}. As root this command would install them; now, run: \
             sudo apt-get install {names}"
        )
        .into());
    }
    apt(&["update"])?;
    let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
    arguments.extend(packages);
    apt(&arguments)
}

fn apt(arguments: &[&str]) -> Outcome {
    eprintln!("\n> apt-get {}", arguments.join(" "));
    let status = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("cannot run apt-get: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("failed ({status}): apt-get {}", arguments.join(" ")).into())
    }
}

/// Debian's package makes a server of its own and starts it. The tests bring theirs, so a machine
/// that had none shall not be left with one.
fn without_a_running_server(install: impl FnOnce() -> Outcome) -> Outcome {
    let dir = Path::new("/etc/postgresql-common/createcluster.d");
    let rule = dir.join("idem.conf");
    if is_root()? {
        fs::create_dir_all(dir)?;
        fs::write(&rule, "create_main_cluster = false\n")?;
    }
    let outcome = install();
    if rule.exists() {
        fs::remove_file(&rule)?;
    }
    outcome
}

/// Debian's packages start the servers that they install, unless the machine's policy says no
/// (`invoke-rc.d`, exit code 101). A policy that is there stays as it is.
fn without_started_services(install: impl FnOnce() -> Outcome) -> Outcome {
    let policy = Path::new("/usr/sbin/policy-rc.d");
    let ours = is_root()? && !policy.exists();
    if ours {
        fs::write(policy, "#!/bin/sh\nexit 101\n")?;
        fs::set_permissions(policy, Permissions::from_mode(0o755))?;
    }
    let outcome = install();
    if ours {
        fs::remove_file(policy)?;
    }
    outcome
}
