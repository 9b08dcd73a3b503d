//! The laws of `postgres` on the plain path, which the library takes if the pool sets
//! `idem.fused=off`, as every pool of this binary does ([`idem_tests::postgres::Database`]).
//!
//! The laws of the pooler are left out: it refuses startup options, and behind it the library takes
//! the plain path anyway.

#[path = "../postgres/bodies.rs"]
mod bodies;
#[path = "../postgres/caller_transaction.rs"]
mod caller_transaction;
#[path = "../postgres/commit.rs"]
mod commit;
#[path = "../postgres/comparison.rs"]
mod comparison;
#[path = "../postgres/competitors.rs"]
mod competitors;
#[path = "../postgres/conflict.rs"]
mod conflict;
#[path = "../postgres/connections.rs"]
mod connections;
#[path = "../postgres/dropped.rs"]
mod dropped;
#[path = "../postgres/failover.rs"]
mod failover;
#[path = "../postgres/failures.rs"]
mod failures;
#[path = "../postgres/isolation.rs"]
mod isolation;
#[path = "../postgres/keys.rs"]
mod keys;
#[path = "../postgres/killed.rs"]
mod killed;
#[path = "../postgres/link.rs"]
mod link;
#[path = "../postgres/nesting.rs"]
mod nesting;
#[path = "../postgres/operations.rs"]
mod operations;
#[path = "../postgres/refusals.rs"]
mod refusals;
#[path = "../postgres/rules.rs"]
mod rules;
#[path = "../postgres/sessions.rs"]
mod sessions;
#[path = "../postgres/statements.rs"]
mod statements;
#[path = "../postgres/tasks.rs"]
mod tasks;
#[path = "../postgres/terminated.rs"]
mod terminated;
#[path = "../postgres/unfinished.rs"]
mod unfinished;
#[path = "../postgres/waiters.rs"]
mod waiters;
