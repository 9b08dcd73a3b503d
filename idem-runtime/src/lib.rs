#![doc = include_str!("repository.md")]
// The first definition of a label counts: on docs.rs there are no files of the repository beside this page.
#![doc = include_str!("../README.md")]
// A library that builds on this one leaves the databases to the program.
#![cfg_attr(
    not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
    allow(dead_code, reason = "without a database nothing asks it")
)]

/// Compares the handlers of this program with the lock file, or writes it if the environment says
/// `IDEM_LOCK=overwrite`.
///
/// Without an argument the file is `idem.lock` beside the manifest of the crate that the call is in;
/// `check!("path/to/idem.lock")` names another, from that manifest's directory.
///
/// # Panics
/// Panics with the report if the file and the program differ; see [`LockFault`](crate::lock::LockFault).
#[cfg(feature = "lock")]
#[doc(hidden)]
#[macro_export]
macro_rules! __lock_check {
    () => {
        $crate::lock::check!("idem.lock")
    };
    ($path:expr) => {
        $crate::lock::assert_same(
            ::std::path::Path::new(::core::env!("CARGO_MANIFEST_DIR")).join($path),
        )
    };
}

mod calls;
mod decision;
mod edges;
#[cfg(feature = "operate")]
pub mod operate;
mod stores;
mod values;
mod workers;

#[cfg(feature = "macros")]
#[doc(inline)]
pub use idem_macros::Failure;

/// Makes an async command handler safe to retry.
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// use idem_runtime::{IdempotencyKey, idempotent, schema};
/// use sqlx::sqlite::{SqlitePoolOptions, SqliteTransaction};
///
/// /// Opens a case.
/// #[idempotent(namespace = "cases", retention = "7d")]
/// async fn open_case(
///     tx: &mut SqliteTransaction<'_>,
///     key: &IdempotencyKey,
///     title: &str,
/// ) -> Result<i64, Box<dyn std::error::Error + Send + Sync>> {
///     let insert = sqlx::query_scalar("INSERT INTO cases (title) VALUES (?1) RETURNING id");
///     Ok(insert.bind(title).fetch_one(&mut **tx).await?)
/// }
///
/// // A database in memory belongs to one connection.
/// let pool = SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
/// schema::create_if_missing(&mut pool.acquire().await?).await?;
/// sqlx::query("CREATE TABLE cases (id INTEGER PRIMARY KEY, title TEXT)").execute(&pool).await?;
///
/// let key = "8e03978e".parse::<IdempotencyKey>()?.global();
/// let first = open_case(&pool, &key, "a leak").await?;
/// let again = open_case(&pool, &key, "a leak").await?;
/// assert!(!first.replayed() && again.replayed() && *first == *again);
/// # Ok(()) }
/// # #[cfg(not(feature = "sqlite"))]
/// # fn main() {}
/// ```
///
/// The documentation of a handler that has one ends with a line like this: "Idempotent: namespace `cases`,
/// operation `open_case`, retention 7d."
#[cfg(feature = "macros")]
#[doc(inline)]
pub use idem_macros::idempotent;

#[cfg(feature = "test-switches")]
#[doc(hidden)]
pub use self::calls::kit::waiters;
#[cfg(feature = "metrics")]
pub use self::calls::telemetry::metrics;
pub use self::calls::{lease, status, telemetry};
#[cfg(feature = "lock")]
pub use self::edges::lock;
#[cfg(feature = "registry")]
pub use self::edges::registry;
#[cfg(feature = "testing")]
pub use self::edges::testing;
pub use self::edges::{handler, http, meta, store};
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
pub use self::workers::{purge, takeover};

pub use self::calls::lease::Attempt;
pub use self::values::error::{Error, ErrorKind};
pub use self::values::failure::{Failure, StoredFailure};
pub use self::values::key::{IdempotencyKey, Namespace, Scope};
pub use self::values::operation::{LeasedOperation, Operation};
pub use self::values::replay::{ReplayExt, Replayable};
pub use self::workers::purge::{PurgeWorker, Purged};
#[cfg(feature = "metrics")]
pub use self::workers::sampler::MetricsSampler;
pub use self::workers::takeover::TakeoverWorker;
