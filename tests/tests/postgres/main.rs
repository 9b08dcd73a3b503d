//! The laws of idempotent handlers on a real PostgreSQL server.

mod bodies;
mod caller_transaction;
mod commit;
mod comparison;
mod conflict;
mod connections;
mod cost;
mod dropped;
mod failover;
mod failures;
mod fused;
mod fused_faults;
mod isolation;
mod keys;
mod killed;
mod link;
mod nesting;
mod pooler;
mod refusals;
mod rivals;
mod rules;
mod sessions;
mod statements;
mod tasks;
mod terminated;
mod unfinished;
