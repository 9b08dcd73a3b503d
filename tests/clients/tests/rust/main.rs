//! The client in Rust, against the real service behind a proxy that does harm.

mod budget;
mod cases;
mod customer;
mod keys;
mod layer;
mod neighbours;
mod redirects;
mod run;
