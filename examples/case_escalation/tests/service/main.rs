//! The service over real sockets, and its page in a browser.

mod browser;
mod commands;
mod desk;
mod schemathesis;
