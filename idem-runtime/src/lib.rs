#![doc = include_str!("../README.md")]
// A library that builds on this one leaves the databases to the program.
#![cfg_attr(
    not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
    allow(dead_code, reason = "without a database nothing asks it")
)]

mod calls;
mod decision;
mod edges;
#[cfg(feature = "operate")]
pub mod operate;
mod stores;
mod values;
mod workers;

#[cfg(feature = "macros")]
pub use idem_macros::{Failure, idempotent};

#[cfg(feature = "test-switches")]
#[doc(hidden)]
pub use self::calls::kit::waiters;
#[cfg(feature = "metrics")]
pub use self::calls::telemetry::metrics;
pub use self::calls::{lease, telemetry};
#[cfg(feature = "lock")]
pub use self::edges::lock;
#[cfg(feature = "registry")]
pub use self::edges::registry;
#[cfg(feature = "testing")]
pub use self::edges::testing;
pub use self::edges::{handler, http, store};
#[doc(hidden)]
pub use self::edges::{private as __private, transport as __transport};
#[cfg(feature = "test-switches")]
#[doc(hidden)]
pub use self::stores::fast_check;
#[cfg(all(
    any(feature = "mysql", feature = "postgres"),
    feature = "test-switches"
))]
#[doc(hidden)]
pub use self::stores::recent_keys;
pub use self::stores::schema;
#[cfg(any(feature = "encrypt", feature = "zstd"))]
pub use self::values::codec;
pub use self::values::{error, fingerprint, key, policy, record, version};
pub use self::workers::purge;

pub use self::calls::lease::Attempt;
pub use self::values::error::{Error, ErrorKind};
pub use self::values::failure::{Failure, StoredFailure};
pub use self::values::key::{IdempotencyKey, Namespace, Scope};
pub use self::values::operation::{LeasedOperation, Operation};
pub use self::values::replay::{ReplayExt, Replayable};
pub use self::workers::purge::{PurgeWorker, Purged};
#[cfg(feature = "metrics")]
pub use self::workers::sampler::MetricsSampler;
