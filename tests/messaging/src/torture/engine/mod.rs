//! The databases of this torture. Each has the handlers for the processes, and a handle on the server for the arena; one
//! file each.

mod mariadb;
mod postgres;
mod sqlite;

use std::collections::BTreeMap;

use idem_messaging::outbox::OutboxDatabase;
use idem_tests::torture::Fault;
use idem_tests::torture::link::Link;
use sqlx::Pool;

pub use self::mariadb::Mariadb;
pub use self::postgres::Postgres;
pub use self::sqlite::Sqlite;
use super::desk::Desk;
use super::evidence::Tables;
use super::nemesis::{Blow, Role};

/// A database under torture.
pub trait Engine: Sized + Send + Sync + 'static {
    /// The name on the command line.
    const NAME: &'static str;
    /// The faults that the engine knows.
    const BLOWS: &'static [Blow];
    /// The database of the outbox.
    type Database: OutboxDatabase;
    /// The handlers of the processes: the pool.
    type Desk: Desk + Into<Pool<Self::Database>>;

    /// Returns a pool of at most so many connections. No connection is made yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL cannot be parsed.
    fn pool(url: &str, connections: u32) -> Result<Self::Desk, Fault>;

    /// Creates a fresh database with its tables.
    fn start() -> impl Future<Output = Result<Self, Fault>> + Send;

    /// Returns the URL for the processes of a role.
    fn url(&self, role: Role) -> String;

    /// Returns the link of the processes of a role, if the database is a server.
    fn link(&self, role: Role) -> Option<&Link>;

    /// Causes a fault of the server.
    fn strike(&self, blow: Blow) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Returns the number of events that have not left.
    fn pending(&self) -> impl Future<Output = Result<u64, Fault>> + Send;

    /// Reads the final state.
    fn tables(&self) -> impl Future<Output = Result<Tables, Fault>> + Send;

    /// Returns the disturbed messages of each link, by kind.
    fn hits(&self) -> BTreeMap<String, u64> {
        let roles = [Role::Caller, Role::Relay, Role::Consumer];
        let hits = roles.into_iter().flat_map(|role| {
            let wire = super::nemesis::Wire::Database(role);
            let hits = self.link(role).map(Link::hits).unwrap_or_default();
            hits.into_iter()
                .map(move |(harm, count)| (format!("{wire}: {harm}"), count))
        });
        hits.collect()
    }
}

/// Reads the tables over a connection of any dialect. The last arguments are the columns of id and last error, as text.
macro_rules! read_tables {
    ($conn:ident, $id:literal, $error:literal) => {{
        let mut tables = Tables::default();
        let numbers = sqlx::query_as("SELECT part, n FROM numbers");
        tables.numbers = numbers.fetch_all(&mut $conn).await?.into_iter().collect();
        let effects = "SELECT event, key_name, part, n FROM effect ORDER BY at";
        for (event, key, partition, number) in sqlx::query_as(effects).fetch_all(&mut $conn).await?
        {
            let fact = Fact {
                key,
                partition,
                number,
            };
            tables.effects.push(Effect { event, fact });
        }
        let rows = concat!(
            "SELECT ",
            $id,
            ", state, attempts, payload, ",
            $error,
            " FROM idem_outbox ORDER BY seq"
        );
        for row in sqlx::query(rows).fetch_all(&mut $conn).await? {
            let payload: Vec<u8> = row.try_get(3)?;
            tables.rows.push(Row {
                event: row.try_get(0)?,
                state: row.try_get::<i16, _>(1)?.into(),
                attempts: row.try_get::<i32, _>(2)?.into(),
                fact: serde_json::from_slice(&payload)?,
                error: row.try_get(4)?,
            });
        }
        for (facts, sql) in [
            (
                &mut tables.booked,
                "SELECT key_name, part, n FROM booked ORDER BY at",
            ),
            (
                &mut tables.shown,
                "SELECT key_name, part, n FROM shown ORDER BY at",
            ),
        ] {
            for (key, partition, number) in sqlx::query_as(sql).fetch_all(&mut $conn).await? {
                facts.push(Fact {
                    key,
                    partition,
                    number,
                });
            }
        }
        Ok(tables)
    }};
}

use read_tables;

/// Calls a generic function for the engine with this name.
#[macro_export]
macro_rules! for_message_engine {
    ($name:expr, $function:ident($($argument:expr),*)) => {{
        use $crate::torture::engine::{Engine as _, Mariadb, Postgres, Sqlite};
        match $name {
            name if name == Postgres::NAME => $function::<Postgres>($($argument),*).await,
            name if name == Mariadb::NAME => $function::<Mariadb>($($argument),*).await,
            name if name == Sqlite::NAME => $function::<Sqlite>($($argument),*).await,
            name => Err(format!("there is no engine `{name}`").into()),
        }
    }};
}

/// The names of all engines.
pub const NAMES: [&str; 3] = [Postgres::NAME, Mariadb::NAME, Sqlite::NAME];
