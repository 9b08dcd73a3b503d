//! A service behind a proxy that does harm, and the cases that every client of ours is held against.
//!
//! [`Town`] starts both. A request to `/f/{name}/{plan}/orders` is a request to `/orders` of the service, and the plan
//! says what becomes of the first, second, .. request of this name: `lost,409,pass`. See [`fault::Fault`].

pub mod cases;
pub mod fault;
pub mod install;
pub mod proxy;
pub mod shop;
pub mod tls;
pub mod town;

pub use self::town::Town;
