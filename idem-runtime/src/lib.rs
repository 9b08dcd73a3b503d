#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(any(
        feature = "mysql",
        feature = "postgres",
        feature = "sqlite"
    )),
    allow(dead_code, reason = "without a store there is nothing that asks it")
)]

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
#[doc(hidden)]
#[path = "transport.rs"]
pub mod __transport;
mod engine;
pub mod error;
mod failure;
#[doc(hidden)]
pub mod fast_check;
pub mod fingerprint;
pub mod handler;
pub mod http;
mod identity;
pub mod key;
pub mod lease;
mod operation;
mod outcome;
mod payload;
pub mod policy;
pub mod purge;
pub mod record;
#[cfg(feature = "registry")]
pub mod registry;
mod replay;
pub mod schema;
mod spec;
pub mod store;
pub mod telemetry;

#[cfg(feature = "macros")]
pub use idem_macros::{Failure, idempotent};

pub use self::error::{Error, ErrorKind};
pub use self::failure::{Failure, StoredFailure};
pub use self::key::{IdempotencyKey, Namespace, Scope};
pub use self::lease::Attempt;
pub use self::operation::{LeasedOperation, Operation};
pub use self::purge::{PurgeWorker, Purged};
pub use self::replay::{ReplayExt, Replayable};
