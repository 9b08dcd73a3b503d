//! A store that lives in the process, for unit tests of code that uses [`Store`](super::Store).
//! **Not durable.**
//!
//! It keeps the contract of the databases, and the same suite proves it: a lock for each identity,
//! held to the end of the transaction; writes that nobody else sees before COMMIT; one record a
//! key, whoever comes first; claims that are good only in the transaction that made them. What it
//! cannot have is business tables: a handler's own writes are not in its transactions, so nothing
//! but records is atomic here. To test a handler whole, use SQLite.
//!
//! Time is the process's own, and a test moves it with [`MemoryDatabase::advance`] instead of
//! sleeping.
//!
//! ```
//! use std::time::Duration;
//!
//! use idem_runtime::key::{IdempotencyKey, Namespace};
//! use idem_runtime::store::memory::MemoryDatabase;
//! use idem_runtime::store::{Outcome, Store};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let database = MemoryDatabase::new();
//! let store = Store::<String, u64>::new(Namespace::new("payments")?);
//! let key = "7f3c".parse::<IdempotencyKey>()?.global();
//! let request = "12.50 EUR to Ada".to_owned();
//!
//! let mut conn = database.connect();
//! conn.begin()?;
//! let Outcome::Fresh(claim) = store.in_transaction(&mut conn)?.begin(&key, "pay", &request).await? else {
//!     panic!("nobody has used the key");
//! };
//! store.in_transaction(&mut conn)?.commit(claim, &17).await?;
//! conn.commit()?;
//!
//! let again = store.in_connection(&mut conn).begin(&key, "pay", &request).await?;
//! assert!(matches!(again, Outcome::PriorResult { value: 17 }));
//!
//! database.advance(Duration::from_secs(25 * 60 * 60));
//! assert_eq!(store.in_connection(&mut conn).purge_expired(100).await?, 1);
//! # Ok(()) }
//! ```

mod connection;
mod database;
mod lease;
mod row;
mod session;
#[cfg(test)]
mod tests;

pub use self::connection::MemoryConnection;
pub use self::database::MemoryDatabase;
pub use self::row::{MemoryKey, MemoryRow};
