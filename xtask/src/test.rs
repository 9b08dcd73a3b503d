//! `cargo xtask test`: all tests, on one PostgreSQL server.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use idem_tests_cluster::{Binaries, Cluster, Options, Template};

use crate::cargo::{APART, Steps, cargo, has, workspace};
use crate::{Outcome, machine};

/// Runs everything, or of the unit and integration tests those whose name contains a filter.
pub(crate) fn run(filters: &[String]) -> Outcome {
    machine::provide_compiler()?;
    machine::provide_pgbouncer()?;
    let server = Server::for_the_run()?;
    let mut steps = Steps::default();
    if filters.is_empty() {
        steps.take(server.tell(workspace(cargo().args(["test", "--doc"]))));
        for member in APART {
            steps.take(server.tell(tests().args(["--package", member])));
        }
    }
    // The examples themselves, which a test of them runs: without a harness, and not all commands
    // below build them so.
    steps.take(workspace(cargo().args(["build", "--examples"])));
    // Last, so that the run closes with the count of what most people mean by "the tests".
    let mut command = tests();
    workspace(&mut command);
    if !has_nextest() {
        command.arg("--");
    }
    steps.take(server.tell(command.args(filters)));
    steps.finish()
}

/// The command that runs tests, without a selection of packages.
fn tests() -> Command {
    let mut command = cargo();
    if has_nextest() {
        command.args(["nextest", "run", "--no-fail-fast"]);
        if env::var_os("CI").is_some() {
            command.args(["--profile", "ci"]);
        }
    } else {
        command.args(["test", "--no-fail-fast", "--lib", "--bins", "--tests"]);
    }
    command
}

fn has_nextest() -> bool {
    has("nextest")
}

/// The server of the run and what the tests are told about it.
struct Server {
    variables: Vec<(&'static str, OsString)>,
    /// Stopped and removed when the run is over.
    _own: Option<(Cluster, Template)>,
}

impl Server {
    fn for_the_run() -> Outcome<Self> {
        if env::var_os("DATABASE_URL").is_some_and(|url| !url.is_empty()) {
            return Ok(Self::of_the_user());
        }
        let binaries = machine::provide_postgres()?;
        let template = Template::create()?;
        let cluster = template.start(Options::new())?;
        Ok(Self {
            variables: vec![
                at(&binaries),
                (Template::VARIABLE, template.path().into()),
                ("IDEM_TEST_POSTGRES", cluster.url("postgres").into()),
            ],
            _own: Some((cluster, template)),
        })
    }

    /// Nothing is installed for a user who brings a server. The tests that crash or replicate one
    /// still start their own, and fail where the programs for that are missing.
    fn of_the_user() -> Self {
        Self {
            variables: Binaries::find().iter().map(at).collect(),
            _own: None,
        }
    }

    fn tell<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)))
    }
}

fn at(binaries: &Binaries) -> (&'static str, OsString) {
    (Binaries::VARIABLES[0], binaries.dir().into())
}
