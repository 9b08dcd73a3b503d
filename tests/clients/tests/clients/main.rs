//! Clients in other languages and of other authors, against the real service behind a proxy that does harm.

mod browser;
mod gateways;
mod json_rpc;
mod package;
mod page;
mod reqwest_trials;
mod trials;
mod typescript;
