//! The MCP edge: rmcp's own client against a server whose tools call annotated handlers, in memory, in a process that the
//! client starts, and over HTTP.

mod annotations;
mod answers;
mod cancelled;
mod client;
mod failures;
mod in_flight;
mod keys;
mod server;
mod stdio;
mod streamable_http;
