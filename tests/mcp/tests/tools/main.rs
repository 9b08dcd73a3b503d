//! The MCP edge: rmcp's own client, in memory, against a server whose tools call annotated handlers.

mod annotations;
mod answers;
mod cancelled;
mod client;
mod failures;
mod handlers;
mod in_flight;
mod keys;
mod server;
