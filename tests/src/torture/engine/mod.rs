//! The databases of the torture test. Each provides a bank for the clients and a handle on the
//! server for the arena; one file each.

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
    /// The name on the command line.
    const NAME: &'static str;
    /// The faults that the engine knows. A fault that is listed twice comes twice as often.
    const BLOWS: &'static [Blow];
    /// The bank that a client calls.
    type Bank: Bank;

    /// Returns a client's bank. No connection is made yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL cannot be parsed.
    fn bank(url: &str) -> Result<Self::Bank, Fault>;

    /// Creates a fresh database with its tables, without constraints on the records if that fault
    /// is planted.
    fn start(planted: Planted) -> impl Future<Output = Result<Self, Fault>> + Send;

    /// Returns the URL for clients.
    fn url(&self) -> String;

    /// Causes a fault. Faults of client processes are the arena's.
    fn strike(&self, blow: Blow) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Returns the faults that took effect later, such as those that wait for a COMMIT.
    fn hits(&self) -> BTreeMap<String, u64>;

    /// Reads the final state once all clients have ended.
    fn tables(&self) -> impl Future<Output = Result<Tables, Fault>> + Send;
}

/// A row that a body wrote.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Effect {
    /// The key.
    pub key: String,
    /// The request, as far as the written rows show it.
    pub asked: Asked,
    /// The run of the body, and its number.
    pub done: Done,
}

/// A record of the library.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Record {
    /// The key.
    pub key: String,
    /// The operation.
    pub operation: String,
    /// The code of its status.
    pub status: i64,
    /// The result or the failure.
    pub value: Value,
}

/// The content of the tables.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Tables {
    /// The balances by account.
    pub accounts: BTreeMap<i64, i64>,
    /// The last order number that was given out.
    pub counter: i64,
    /// The effects.
    pub effects: Vec<Effect>,
    /// The records.
    pub records: Vec<Record>,
    /// The number of transactions and locks that outlived all clients.
    pub unfinished: i64,
}

/// Returns the statements that replace the record's table by one without constraints. `column` is
/// the key's column, quoted for the dialect.
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

/// Reads the tables over a connection of any dialect. The key and the operation must be text
/// columns, or be cast to text.
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

/// The type of a status in every dialect: at least a `smallint`.
type Status = i16;

fn what(name: &str) -> Result<super::calls::What, Fault> {
    Ok(serde_json::from_value(Value::from(name))?)
}

use read_tables;

/// Calls a generic function for the engine with this name.
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
