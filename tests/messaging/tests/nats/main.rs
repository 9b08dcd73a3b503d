//! The laws of the adapter of NATS, on a real server.

mod consume;
mod publish;
mod site;
