//! The gRPC edge: tonic's own client, over TCP, against a server with annotated handlers.

mod answers;
mod bank;
mod client;
mod commit;
mod deadline;
mod failures;
mod in_flight;
mod keys;
mod refusals;
mod shop;
