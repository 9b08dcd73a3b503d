//! The JSON-RPC edge, over real sockets.

mod answers;
mod batches;
mod client;
mod documents;
mod headers;
mod keys;
mod notifications;
mod trait_methods;
