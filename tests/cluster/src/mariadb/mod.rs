//! A private MariaDB server for one test process: as [`Cluster`](crate::Cluster) is for PostgreSQL.

mod binaries;
mod options;
mod server;
mod template;

pub use binaries::Binaries;
pub use options::Options;
pub use server::Server;
pub use template::Template;
