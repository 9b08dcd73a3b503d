//! What tests of handlers need (feature `testing`): a table, a duplicate, an interruption, an old record, no idempotency.
//!
//! `docs/testing.md` in the repository shows each of them in a test that runs. The feature changes nothing by itself; turn it on
//! in `[dev-dependencies]`. Everything here panics, with a sentence, where a test should fail.
//!
//! ```
//! # #[cfg(all(feature = "macros", feature = "sqlite"))] {
//! # use idem_runtime::{IdempotencyKey, idempotent, testing};
//! # use sqlx::{SqlitePool, SqliteTransaction};
//! #[idempotent(namespace = "orders")]
//! async fn place_order(tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey, item: &str) -> Result<i64, idem_runtime::Error> {
//! #   let _ = (tx, item);
//!     // ..
//! #   Ok(1)
//! }
//!
//! // Under `#[sqlx::test]`, which makes the pool.
//! async fn a_retry_has_no_second_effect(pool: SqlitePool) {
//!     testing::install(&pool).await;
//!     let key = testing::key("order-1");
//!     testing::twice(|| place_order(&pool, &key, "tea")).await;
//! }
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! #     let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect_lazy("sqlite::memory:");
//! #     a_retry_has_no_second_effect(pool.unwrap()).await;
//! # });
//! # }
//! ```

mod interrupted;
mod records;
mod twice;

use sqlx::{Database, Pool};

pub use self::interrupted::interrupted_at_every_await;
pub use self::records::{Records, StoredRecord};
pub use self::twice::{one_effect, twice, twice_failing};
pub use crate::calls::kit::switched_off::without_idempotency;
use crate::stores::AsSession;
use crate::stores::schema;
use crate::stores::session::Migrate;
use crate::values::key::IdempotencyKey;

/// Creates the table of records in the database of a test, as [`schema::create_if_missing`] does.
///
/// # Panics
/// Panics if the database refuses it.
pub async fn install<DB>(pool: &Pool<DB>)
where
    DB: Database<Connection: AsSession<Session: Migrate>>,
{
    let mut conn = match pool.acquire().await {
        Ok(conn) => conn,
        Err(error) => panic!("the pool has no connection for the table of records: {error}"),
    };
    if let Err(error) = schema::create_if_missing(&mut *conn).await {
        panic!("the table of records cannot be created: {error}");
    }
}

/// Returns a key of this text that all callers share ([`Scope::GLOBAL`](crate::Scope::GLOBAL)).
///
/// # Panics
/// Panics if the text is no key.
#[track_caller]
pub fn key(text: &str) -> IdempotencyKey {
    match text.parse::<IdempotencyKey>() {
        Ok(key) => key.global(),
        Err(error) => panic!("{error}"),
    }
}
