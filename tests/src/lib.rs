//! What the integration tests share: real databases, fresh for each test.
//!
//! - [`postgres::Database`] is a database of its own on the run's PostgreSQL server, and
//!   [`postgres::Cluster`] a whole server for a test that stops, crashes or replicates one.
//! - [`postgres::Observer`] waits until the server shows a given state, so that no test sleeps.
//! - [`mysql::Database`], [`mysql::Server`] and [`mysql::Observer`] are the same on MariaDB.
//! - [`sqlite::Sqlite`] is a database file of its own.
//! - [`patience::in_time`] ends a wait that a fault would make one for ever.
//! - [`torture`] is a client under a nemesis, and the checker of what is left.
//! - [`gate::Gate`] stops a body, [`proxy::Proxy`] a COMMIT, and [`cut::cut`] a future, where a test
//!   wants it; [`rewrite::Rewrite`] replaces a statement on its way.
//!
//! Everything that goes wrong here panics with the reason: a test that cannot have its database
//! has failed, and is never skipped.

pub mod cut;
pub mod gate;
pub mod mysql;
pub mod patience;
pub mod postgres;
pub mod proxy;
pub mod rewrite;
pub mod settings;
pub mod sqlite;
pub mod torture;
