//! The laws of the webhook publisher, against real HTTP servers.

mod addresses;
mod answers;
mod delivery;
mod relay;
mod site;
#[path = "../subject/mod.rs"]
mod subject;
mod tls;
