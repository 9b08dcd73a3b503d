//! PostgreSQL servers and databases for tests.

mod database;
mod observe;
pub mod payments;
mod pooler;
mod server;
mod shop;

pub use database::Database;
pub use idem_tests_cluster::{Cluster, Options};
pub use observe::Observer;
pub use pooler::Pooler;
pub use shop::{Shop, fresh_key};
