//! Clients in other languages, against the real service behind a proxy that does harm.

mod browser;
mod gateways;
mod json_rpc;
mod package;
mod page;
mod trials;
mod typescript;
