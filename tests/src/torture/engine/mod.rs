//! What a database brings to the torture: a bank for the clients, and the arena's hands on the
//! server. One file each.

mod mariadb;
mod postgres;
mod sqlite;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::AssertSqlSafe;

pub use self::mariadb::Mariadb;
pub use self::postgres::Postgres;
pub use self::sqlite::{Rollback, Sqlite, Wal};
use super::Fault;
use super::calls::{Asked, Done};
use super::handlers::Bank;
use super::nemesis::Blow;
use super::planted::Planted;

/// A database under torture.
pub trait Engine: Sized + Send + Sync + 'static {
    /// As the command line names it.
    const NAME: &'static str;
    /// What can befall it; one that is named twice comes twice as often.
    const BLOWS: &'static [Blow];
    /// What a client calls with.
    type Bank: Bank;

    /// A client's bank. No connection is made yet.
    ///
    /// # Errors
    /// The URL is none.
    fn bank(url: &str) -> Result<Self::Bank, Fault>;

    /// A fresh database with its tables; without any constraint on the records if that is what is
    /// planted.
    fn start(planted: Planted) -> impl Future<Output = Result<Self, Fault>> + Send;

    /// Where clients find it.
    fn url(&self) -> String;

    /// Deals a blow; those against clients are the arena's.
    fn strike(&self, blow: Blow) -> impl Future<Output = Result<(), Fault>> + Send;

    /// The blows that took their time to hit, as those do that wait for a COMMIT.
    fn hits(&self) -> BTreeMap<String, u64>;

    /// What is left when all clients are gone.
    fn tables(&self) -> impl Future<Output = Result<Tables, Fault>> + Send;
}

/// A row that a body wrote.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Effect {
    /// The key.
    pub key: String,
    /// The request, as far as the writes tell.
    pub asked: Asked,
    /// The run, and its number.
    pub done: Done,
}

/// A record of the library's.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Record {
    /// The key.
    pub key: String,
    /// The operation.
    pub operation: String,
    /// The code.
    pub status: i64,
    /// The result or the failure.
    pub value: Value,
}

/// What the tables hold.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Tables {
    /// The balances by account.
    pub accounts: BTreeMap<i64, i64>,
    /// The last order number given.
    pub counter: i64,
    /// The effects.
    pub effects: Vec<Effect>,
    /// The records.
    pub records: Vec<Record>,
    /// Transactions and locks that outlived all clients.
    pub unfinished: i64,
}

/// Without any constraint: what takes the place of the record's table, whose key's column is quoted
/// as the dialect wants it.
fn loose(column: &str) -> [AssertSqlSafe<String>; 4] {
    let columns = format!("{column}, operation, status, result, failure");
    [
        "DROP VIEW idem_record_readable".to_owned(),
        format!("CREATE TABLE loose AS SELECT {columns} FROM idem_record"),
        "DROP TABLE idem_record".to_owned(),
        "ALTER TABLE loose RENAME TO idem_record".to_owned(),
    ]
    .map(AssertSqlSafe)
}

/// Reads the tables by a connection of any dialect; the key and the operation are columns of text, or
/// are made that.
macro_rules! read_tables {
    ($conn:ident, $key:literal, $operation:literal, $unfinished:expr) => {{
        let mut tables = $crate::torture::engine::Tables {
            unfinished: $unfinished,
            counter: sqlx::query_scalar("SELECT n FROM counter")
                .fetch_one(&mut $conn)
                .await?,
            ..Default::default()
        };
        for row in sqlx::query("SELECT id, balance FROM account")
            .fetch_all(&mut $conn)
            .await?
        {
            tables.accounts.insert(row.try_get(0)?, row.try_get(1)?);
        }
        let sql = "SELECT what, run, number, label, payer, payee, amount FROM effect";
        for row in sqlx::query(sql).fetch_all(&mut $conn).await? {
            let what: String = row.try_get(0)?;
            tables.effects.push($crate::torture::engine::Effect {
                key: row.try_get(3)?,
                asked: Asked {
                    what: $crate::torture::engine::what(&what)?,
                    from: row.try_get(4)?,
                    to: row.try_get(5)?,
                    amount: row.try_get(6)?,
                },
                done: Done {
                    run: row.try_get(1)?,
                    number: row.try_get(2)?,
                },
            });
        }
        let sql = concat!(
            "SELECT ",
            $key,
            ", ",
            $operation,
            ", status, coalesce(result, failure) FROM idem_record"
        );
        for row in sqlx::query(sql).fetch_all(&mut $conn).await? {
            let value: Option<Vec<u8>> = row.try_get(3)?;
            tables.records.push($crate::torture::engine::Record {
                key: row.try_get(0)?,
                operation: row.try_get(1)?,
                status: row.try_get::<$crate::torture::engine::Status, _>(2)?.into(),
                value: value.map_or(Ok(serde_json::Value::Null), |bytes| {
                    serde_json::from_slice(&bytes)
                })?,
            });
        }
        Ok(tables)
    }};
}

/// A status as every dialect stores it: at least a `smallint`.
type Status = i16;

fn what(name: &str) -> Result<super::calls::What, Fault> {
    Ok(serde_json::from_value(Value::from(name))?)
}

use read_tables;

/// Calls a generic function for the engine of this name.
#[macro_export]
macro_rules! for_engine {
    ($name:expr, $function:ident($($argument:expr),*)) => {{
        use $crate::torture::engine::{Engine as _, Mariadb, Postgres, Rollback, Sqlite, Wal};
        match $name {
            name if name == Postgres::<true>::NAME => {
                $function::<Postgres<true>>($($argument),*).await
            }
            name if name == Postgres::<false>::NAME => {
                $function::<Postgres<false>>($($argument),*).await
            }
            name if name == Mariadb::NAME => $function::<Mariadb>($($argument),*).await,
            name if name == Sqlite::<Wal>::NAME => $function::<Sqlite<Wal>>($($argument),*).await,
            name if name == Sqlite::<Rollback>::NAME => {
                $function::<Sqlite<Rollback>>($($argument),*).await
            }
            name => Err(format!("there is no engine `{name}`").into()),
        }
    }};
}

/// The names of all engines.
pub const NAMES: [&str; 5] = [
    Postgres::<true>::NAME,
    Postgres::<false>::NAME,
    Mariadb::NAME,
    Sqlite::<Wal>::NAME,
    Sqlite::<Rollback>::NAME,
];
