//! The edge on axum, over real sockets: what its layers do to a router. `tests/conformance` has what every framework must do.

mod detached;
mod documents;
mod edits;
mod gateways;
mod shop;
