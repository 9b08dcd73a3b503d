//! `cargo xtask test`: runs all tests, on a PostgreSQL server of the machine's version, a
//! PostgreSQL server of the newest version and a MariaDB server.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use idem_tests_cluster::broker::{NatsServer, RabbitMqServer};
use idem_tests_cluster::{Binaries, Cluster, Options, Template, mariadb};

use crate::cargo::{APART, EXAMPLE, Steps, cargo, has, workspace};
use crate::{Outcome, cost, machine};

/// Runs everything. With filters, runs only the unit and integration tests whose names contain a
/// filter.
pub(crate) fn run(filters: &[String]) -> Outcome {
    machine::provide_compiler()?;
    machine::provide_curl()?;
    machine::provide_chromium()?;
    machine::provide_schemathesis()?;
    machine::provide_gateways()?;
    machine::provide_node()?;
    machine::provide_venv()?;
    machine::provide_pgbouncer()?;
    machine::provide_brokers()?;
    machine::provide_prometheus()?;
    machine::provide_valgrind()?;
    let newest = machine::provide_postgres_18()?;
    let server = Server::for_the_run(newest)?;
    let mut steps = Steps::default();
    if filters.is_empty() {
        steps.perform(server.report(workspace(cargo().args(["test", "--doc"]))));
        for member in APART {
            steps.perform(server.report(tests().args(["--package", member])));
        }
        for mut command in cost::commands() {
            steps.perform(server.report(&mut command));
        }
        // With all features it runs on PostgreSQL and NATS.
        steps.perform(server.report(tests().args(["--package", EXAMPLE])));
    }
    // The examples as programs, because a test runs them: not every command below builds them
    // without a test harness.
    steps.perform(workspace(cargo().args(["build", "--examples"])));
    // Run last, so that the output ends with the count of the unit and integration tests.
    let mut command = tests();
    workspace(&mut command).args(["--exclude", cost::MEMBER, "--exclude", cost::EDGES]);
    if !has_nextest() {
        command.arg("--");
    }
    steps.perform(server.report(command.args(filters)));
    steps.finish()
}

/// Returns the command that runs tests, without a selection of packages.
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

/// The servers of the run, and the variables that tell the tests about them.
struct Server {
    variables: Vec<(&'static str, OsString)>,
    /// The servers that this run started: stopped and removed at its end.
    own: Vec<(Cluster, Template)>,
    mariadb: Option<(mariadb::Server, mariadb::Template)>,
    brokers: Option<(NatsServer, RabbitMqServer)>,
}

impl Server {
    fn for_the_run(newest: Binaries) -> Outcome<Self> {
        let mut server = Self {
            variables: vec![(Binaries::VARIABLE_OF_18, newest.dir().into())],
            own: Vec::new(),
            mariadb: None,
            brokers: None,
        };
        server.start_mariadb()?;
        server.start_brokers()?;
        let template = Template::create_by(newest)?;
        server.start("IDEM_TEST_POSTGRES_18", template)?;
        if env::var_os("DATABASE_URL").is_some_and(|url| !url.is_empty()) {
            // Debian's server is not installed for a user who brings one. The tests that crash or
            // replicate a server start their own in any case, and fail if its programs are missing.
            server.variables.extend(Binaries::find().iter().map(at));
            return Ok(server);
        }
        let binaries = machine::provide_postgres()?;
        let template = Template::create()?;
        server.variables.push(at(&binaries));
        server
            .variables
            .push((Template::VARIABLE, template.path().into()));
        server.start("IDEM_TEST_POSTGRES", template)?;
        Ok(server)
    }

    fn start(&mut self, variable: &'static str, template: Template) -> Outcome {
        let cluster = template.start(Options::new())?;
        self.variables
            .push((variable, cluster.url("postgres").into()));
        self.own.push((cluster, template));
        Ok(())
    }

    fn start_mariadb(&mut self) -> Outcome {
        // The tests that crash a server start their own in any case.
        machine::provide_mariadb()?;
        machine::provide_galera()?;
        let template = mariadb::Template::create()?;
        self.variables
            .push((mariadb::Template::VARIABLE, template.path().into()));
        let server = template.start(&mariadb::Options::new())?;
        self.variables
            .push(("IDEM_TEST_MYSQL", server.url("mysql").into()));
        self.mariadb = Some((server, template));
        Ok(())
    }

    fn start_brokers(&mut self) -> Outcome {
        // The tests that end a broker start their own in any case.
        let (nats, rabbitmq) = (NatsServer::start()?, RabbitMqServer::start()?);
        for (variable, port) in [
            ("IDEM_TEST_NATS", nats.port()),
            ("IDEM_TEST_RABBITMQ", rabbitmq.port()),
        ] {
            self.variables.push((variable, port.to_string().into()));
        }
        self.brokers = Some((nats, rabbitmq));
        Ok(())
    }

    fn report<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)))
    }
}

fn at(binaries: &Binaries) -> (&'static str, OsString) {
    (Binaries::VARIABLES[0], binaries.dir().into())
}
