//! A service behind a proxy that does harm, for clients that are not written in Rust.
//!
//! [`Town`] starts both. A request to `/f/{name}/{plan}/orders` is a request to `/orders` of the service, and the plan
//! says what becomes of the first, second, .. request of this name: `lost,409,pass`. See [`fault::Fault`].

pub mod fault;
pub mod install;
pub mod proxy;
pub mod shop;
pub mod town;

pub use self::town::Town;
