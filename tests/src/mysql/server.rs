//! The server on which a test creates its database.

use std::env;
use std::str::FromStr;
use std::sync::OnceLock;

use sqlx::mysql::MySqlConnectOptions;

use super::{Options, Server};

/// The server of the whole run, started by `cargo xtask test`.
const OF_THE_RUN: &str = "IDEM_TEST_MYSQL";
/// A server that the user names.
const OF_THE_USER: &str = "MYSQL_URL";

/// A static is never dropped; the server ends with the process.
static OF_THE_PROCESS: OnceLock<Server> = OnceLock::new();

/// Returns the options of the server: the user's, else the run's, else one of this process.
///
/// # Panics
///
/// Panics if a variable holds no URL of MySQL, or if no server can be started.
pub(super) fn options() -> MySqlConnectOptions {
    for variable in [OF_THE_USER, OF_THE_RUN] {
        if let Some(url) = env::var(variable).ok().filter(|url| !url.is_empty()) {
            return parse(&url)
                .unwrap_or_else(|reason| panic!("{variable} names no MySQL server: {reason}"));
        }
    }
    let server = OF_THE_PROCESS.get_or_init(|| {
        Server::start(&Options::new()).unwrap_or_else(|error| panic!("no MariaDB: {error}"))
    });
    parse(&server.url("mysql")).unwrap_or_else(|reason| panic!("{reason}"))
}

pub(super) fn parse(url: &str) -> Result<MySqlConnectOptions, String> {
    if !(url.starts_with("mysql://") || url.starts_with("mariadb://")) {
        return Err("it does not begin with `mysql://`".to_owned());
    }
    MySqlConnectOptions::from_str(url).map_err(|error| error.to_string())
}
