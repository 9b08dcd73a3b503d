//! The laws of idempotent handlers on a real PostgreSQL server.

mod connections;
mod dropped;
mod terminated;
