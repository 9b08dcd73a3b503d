//! The laws of idempotent handlers on a real MariaDB server.

mod bodies;
mod caller;
mod deadlock;
mod dropped;
mod killed;
mod link;
mod nesting;
mod rivals;
mod sessions;
mod slow;
mod undone;
