//! The server of the tests, which stand in `tests/`, apart from those that need no rmcp: in the tests' own process, and in one
//! that a host starts (`src/bin/mcp-shop.rs`).

mod handlers;
pub mod server;
