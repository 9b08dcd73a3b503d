//! Tests of the service over real sockets, and of its page in a browser.

mod browser;
mod commands;
mod desk;
mod ending;
mod messages;
mod schemathesis;
