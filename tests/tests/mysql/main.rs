//! The laws of idempotent handlers on a real MariaDB server.

mod altered;
mod bodies;
mod borrowed;
mod caller;
mod competitors;
mod cost;
mod counter;
mod deadlock;
mod dropped;
mod elsewhere;
mod killed;
mod link;
mod nesting;
mod operations;
mod sessions;
mod settings;
mod slow;
mod triggers;
mod undone;
mod unfinished;
mod waiters;
