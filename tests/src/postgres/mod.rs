//! PostgreSQL servers and databases for tests.

mod database;
mod observe;
mod server;

pub use database::Database;
pub use idem_tests_cluster::{Cluster, Options};
pub use observe::Observer;
