//! MySQL servers and databases for tests: the process's own MariaDB, or the server that the user
//! names.

mod chain;
mod database;
mod observe;
pub mod payments;
mod server;
mod shop;

pub use chain::{Chain, may_retry, pay_at_last};
pub use database::Database;
pub use idem_tests_cluster::mariadb::{Galera, Options, Server};
pub use observe::Observer;
pub use shop::{Shop, fresh_key};
