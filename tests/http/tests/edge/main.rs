//! The HTTP edge, over real sockets.

mod answers;
mod client;
mod detached;
mod disconnect;
mod documents;
mod edits;
mod failures;
mod forms;
mod gateways;
mod policy;
mod shop;
