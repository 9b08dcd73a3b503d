//! The laws of the attribute and the engine on SQLite.

mod attached;
mod bodies;
mod caller;
mod changed;
mod commit;
mod crash;
mod dropped;
mod duplicates;
mod events;
mod expiry;
mod failures;
mod keys;
mod memory;
mod nesting;
mod operations;
mod options;
mod payments;
mod refusals;
mod settings;
mod storable;
mod unfinished;
mod unfit;
mod wait;
