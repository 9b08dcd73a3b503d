//! A private MariaDB server for one test process, as [`Cluster`](crate::Cluster) is for PostgreSQL,
//! and a [`Galera`] cluster of them.

mod binaries;
mod galera;
mod options;
mod server;
mod template;

pub use binaries::Binaries;
pub use galera::Galera;
pub use options::Options;
pub use server::Server;
pub use template::Template;
