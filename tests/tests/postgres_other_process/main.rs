//! The laws of `postgres` in a process that has never seen the key of a call, as every call of this binary is
//! ([`idem_tests::postgres::Database`]): none looks a record up before it begins.
//!
//! The laws of cost, of retries and of the function are left out: they make both kinds of calls themselves.

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
#[path = "../postgres/fused.rs"]
mod fused;
#[path = "../postgres/fused_faults.rs"]
mod fused_faults;
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
#[path = "../postgres/partitions.rs"]
mod partitions;
#[path = "../postgres/pooler.rs"]
mod pooler;
#[path = "../postgres/pooler_statements.rs"]
mod pooler_statements;
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
