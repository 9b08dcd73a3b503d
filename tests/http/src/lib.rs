//! A shop with web handlers, as a user would write them, served by each framework that has an edge.
//!
//! [`Framework`] says how one serves it. The laws of `tests/conformance` are stamped for each, and those of `tests/layer` as far as
//! they need no axum; those of `tests/edge` do.

pub mod client;
pub mod desk;
pub mod framework;
pub mod on_actix;
pub mod on_axum;
pub mod on_tower;
pub mod relay;
pub mod shop;

pub use self::framework::{Framework, Rules, Server};
pub use self::on_actix::OnActix;
pub use self::on_axum::OnAxum;
pub use self::on_tower::OnTower;
pub use self::shop::Shop;
