//! The server on which a test creates its database.

use std::env;
use std::str::FromStr;
use std::sync::OnceLock;

use idem_tests_cluster::{Binaries, Template};
use sqlx::postgres::PgConnectOptions;

use super::{Cluster, Options};

/// The server of the whole run, started by `cargo xtask test`.
const OF_THE_RUN: &str = "IDEM_TEST_POSTGRES";
/// The server of PostgreSQL 18 of the whole run.
const OF_THE_RUN_18: &str = "IDEM_TEST_POSTGRES_18";
/// A server that the user names.
const OF_THE_USER: &str = "DATABASE_URL";

/// A static is never dropped; the cluster ends with the process.
static OF_THE_PROCESS: OnceLock<Cluster> = OnceLock::new();
static OF_THE_PROCESS_18: OnceLock<Cluster> = OnceLock::new();

/// Returns the options of the server: the user's, else the run's, else one of this process.
///
/// # Panics
///
/// Panics if a variable holds no URL of PostgreSQL, or if no server can be started.
pub(super) fn options() -> PgConnectOptions {
    told_by(OF_THE_USER).unwrap_or_else(ours)
}

/// Returns the options of the run's server, else of one of this process. It listens on 127.0.0.1
/// and trusts every client that connects as `postgres`.
///
/// # Panics
///
/// Panics if no server can be started.
pub(super) fn ours() -> PgConnectOptions {
    told_by(OF_THE_RUN).unwrap_or_else(|| {
        let cluster = OF_THE_PROCESS.get_or_init(|| {
            Cluster::start(Options::new()).unwrap_or_else(|error| panic!("no PostgreSQL: {error}"))
        });
        parse(&cluster.url("postgres")).unwrap_or_else(|reason| panic!("{reason}"))
    })
}

/// Returns the options of the run's server of PostgreSQL 18, else of one of this process.
///
/// # Panics
///
/// Panics if no server can be started.
pub(super) fn of_18() -> PgConnectOptions {
    told_by(OF_THE_RUN_18).unwrap_or_else(|| {
        let cluster = OF_THE_PROCESS_18.get_or_init(|| {
            Binaries::of_18()
                .and_then(Template::create_by)
                .and_then(|template| template.start(Options::new()))
                .unwrap_or_else(|error| panic!("no PostgreSQL 18: {error}"))
        });
        parse(&cluster.url("postgres")).unwrap_or_else(|reason| panic!("{reason}"))
    })
}

fn told_by(variable: &str) -> Option<PgConnectOptions> {
    let url = env::var(variable).ok().filter(|url| !url.is_empty())?;
    let options = parse(&url);
    Some(options.unwrap_or_else(|reason| panic!("{variable} names no PostgreSQL server: {reason}")))
}

fn parse(url: &str) -> Result<PgConnectOptions, String> {
    if !(url.starts_with("postgres://") || url.starts_with("postgresql://")) {
        return Err("it does not begin with `postgres://`".to_owned());
    }
    PgConnectOptions::from_str(url).map_err(|error| error.to_string())
}
