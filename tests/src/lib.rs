//! The shared parts of the integration tests: real databases, fresh for each test.
//!
//! - [`postgres::Database`] is a separate database on the run's PostgreSQL server, and
//!   [`postgres::Cluster`] a separate server for a test that stops, crashes or replicates one.
//! - [`postgres::Observer`] waits until the server shows a given state, so that no test sleeps.
//! - [`mysql::Database`], [`mysql::Server`] and [`mysql::Observer`] are the same on MariaDB.
//! - [`sqlite::Sqlite`] is a separate database file.
//! - [`patience::in_time`] fails a wait that would otherwise never end.
//! - [`torture`] runs clients under a nemesis, and checks what remains.
//! - [`gate::Gate`] stops a body, [`proxy::Proxy`] a COMMIT, and [`cut::cut`] a future, where a test
//!   needs it; [`rewrite::Rewrite`] replaces a statement on its way to the server.
//!
//! Every failure here panics with its reason: a test without its database fails and is never
//! skipped.

pub mod cut;
pub mod dialect;
pub mod gate;
pub mod mysql;
pub mod patience;
pub mod postgres;
pub mod proxy;
pub mod rewrite;
pub mod settings;
pub mod silence;
pub mod sqlite;
pub mod torture;
pub mod waiting;
