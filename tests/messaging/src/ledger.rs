//! The effects of a handler, as rows of a database of each kind.

use std::any::Any;

use idem_messaging::inbox::Received;
use idem_runtime::IdempotencyKey;
use idem_runtime::handler::OperationSpec;
use sqlx::{Database, Pool};

use crate::fact::{Fact, NoteError};

/// The most connections of a consumer.
const CONNECTIONS: u32 = 4;

/// A database in which effects are noted.
pub trait Ledger: Database + Sized {
    /// Creates an empty database. It is there for as long as the second value.
    fn fresh() -> impl Future<Output = (Pool<Self>, Box<dyn Any + Send + Sync>)> + Send;

    /// Creates the tables of the records and of the effects.
    fn create(pool: &Pool<Self>) -> impl Future<Output = ()> + Send;

    /// Returns the operation of [`note`](Self::note).
    fn operation() -> OperationSpec;

    /// Notes a fact, once a key. Returns whether it was noted before.
    ///
    /// The body stops at the gate [`AfterWrite`](idem_tests::gate::GatePoint::AfterWrite) of the key, if there is one.
    fn note(
        pool: &Pool<Self>,
        key: &IdempotencyKey,
        fact: &Received<Fact>,
    ) -> impl Future<Output = Result<bool, NoteError>> + Send;

    /// Returns how often a fact is noted.
    fn count(pool: &Pool<Self>, fact: &str) -> impl Future<Output = i64> + Send;
}

macro_rules! ledger {
    ($name:ident, $database:ty, $tx:ty, $fresh:expr, $insert:literal, $count:literal) => {
        mod $name {
            use idem_runtime::handler::DescribeOperation as _;
            use idem_runtime::{idempotent, schema};
            use idem_tests::gate::{GatePoint, pass};

            use super::*;

            #[idempotent(namespace = "receiver", operation = "note", retention = "7d", marker = Note)]
            async fn note_once(
                tx: &mut $tx,
                key: &IdempotencyKey,
                fact: &Received<Fact>,
            ) -> Result<(), NoteError> {
                let insert = sqlx::query($insert).bind(&fact.id);
                insert.execute(&mut **tx).await?;
                pass(key.as_str(), GatePoint::AfterWrite).await;
                Ok(())
            }

            impl Ledger for $database {
                async fn fresh() -> (Pool<Self>, Box<dyn Any + Send + Sync>) {
                    let database = $fresh;
                    (database.pool(CONNECTIONS), Box::new(database))
                }

                async fn create(pool: &Pool<Self>) {
                    let mut connection = pool.acquire().await.expect("a connection");
                    let records = schema::create_if_missing(&mut connection);
                    records.await.expect("the table of records");
                    let effects = sqlx::raw_sql("CREATE TABLE effect (fact VARCHAR(200) NOT NULL)");
                    let created = effects.execute(&mut *connection).await;
                    created.expect("the table of effects");
                }

                fn operation() -> OperationSpec {
                    Note::OPERATION.into()
                }

                async fn note(
                    pool: &Pool<Self>,
                    key: &IdempotencyKey,
                    fact: &Received<Fact>,
                ) -> Result<bool, NoteError> {
                    Ok(note_once(pool, key, fact).await?.replayed())
                }

                async fn count(pool: &Pool<Self>, fact: &str) -> i64 {
                    let count = sqlx::query_scalar($count).bind(fact);
                    count.fetch_one(pool).await.expect("a number")
                }
            }
        }
    };
}

ledger!(
    postgres,
    sqlx::Postgres,
    sqlx::PgTransaction<'_>,
    idem_tests::postgres::Database::fresh().await,
    "INSERT INTO effect (fact) VALUES ($1)",
    "SELECT count(*) FROM effect WHERE fact = $1"
);
ledger!(
    mysql,
    sqlx::MySql,
    sqlx::MySqlTransaction<'_>,
    idem_tests::mysql::Database::fresh().await,
    "INSERT INTO effect (fact) VALUES (?)",
    "SELECT count(*) FROM effect WHERE fact = ?"
);
ledger!(
    sqlite,
    sqlx::Sqlite,
    sqlx::SqliteTransaction<'_>,
    idem_tests::sqlite::Sqlite::fresh(idem_tests::sqlite::Journal::Wal),
    "INSERT INTO effect (fact) VALUES (?1)",
    "SELECT count(*) FROM effect WHERE fact = ?1"
);
