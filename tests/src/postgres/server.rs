//! The server on which a test makes its database.

use std::env;
use std::str::FromStr;
use std::sync::OnceLock;

use sqlx::postgres::PgConnectOptions;

use super::{Cluster, Options};

/// The server of the whole run, started by `cargo xtask test`.
const OF_THE_RUN: &str = "IDEM_TEST_POSTGRES";
/// A server that the user brings.
const OF_THE_USER: &str = "DATABASE_URL";

/// A static is never dropped; the cluster goes with the process.
static OF_THE_PROCESS: OnceLock<Cluster> = OnceLock::new();

/// How to reach the server: the user's, else the run's, else one of this process.
///
/// # Panics
///
/// A variable holds no URL of PostgreSQL, or there is no server to start.
pub(super) fn options() -> PgConnectOptions {
    told_by(OF_THE_USER).unwrap_or_else(ours)
}

/// How to reach the run's server, else one of this process: on 127.0.0.1, and whoever comes as
/// `postgres` is trusted.
///
/// # Panics
///
/// There is no server to start.
pub(super) fn ours() -> PgConnectOptions {
    told_by(OF_THE_RUN).unwrap_or_else(|| {
        let cluster = OF_THE_PROCESS.get_or_init(|| {
            Cluster::start(Options::new()).unwrap_or_else(|error| panic!("no PostgreSQL: {error}"))
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
