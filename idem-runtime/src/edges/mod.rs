//! The public edges: the rules of HTTP and of `_meta`, the traits of a handler's signature, the registry, and the names for
//! generated code and for the transports.

pub mod handler;
pub mod http;
#[cfg(feature = "lock")]
pub mod lock;
pub mod meta;
pub mod private;
#[cfg(feature = "registry")]
pub mod registry;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transport;
