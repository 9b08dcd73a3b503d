//! Reads the traits of a pool's connections from its options.

use std::sync::{Arc, Weak};

use sqlx::sqlite::{Sqlite, SqliteConnectOptions};
use sqlx::{ConnectOptions as _, Pool};

use super::super::bounded::Bounded;
use super::claim::SqlitePoolTraits;
use super::pool_file::PoolFile;
use crate::values::error::{Error, SchemaFault};

/// Returns the pool's traits. Reads them once: only the options' form as a URL shows the mode.
pub(super) fn of(pool: &Pool<Sqlite>) -> Result<SqlitePoolTraits, Error> {
    static KNOWN: Bounded<PoolOptions, SqlitePoolTraits> = Bounded::new();
    let options = pool.connect_options();
    // As long as a weak pointer to the options is kept, no other options have their address.
    let ours = Arc::as_ptr(&options);
    if let Some(pool_traits) = KNOWN.find(|known| known.0.as_ptr() == ours) {
        return Ok(pool_traits);
    }
    let pool_traits = read(&options, pool.options().get_max_connections())?;
    // Of two calls at once, the second may learn anew what the first has learnt.
    KNOWN.insert(PoolOptions(Arc::downgrade(&options)), pool_traits.clone());
    Ok(pool_traits)
}

/// The options of a pool, compared by identity and not by value.
struct PoolOptions(Weak<SqliteConnectOptions>);

impl PartialEq for PoolOptions {
    fn eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

fn read(options: &SqliteConnectOptions, connections: u32) -> Result<SqlitePoolTraits, Error> {
    let name = options.get_filename();
    // Only a URL shows the mode, and not every file's name can be part of one (sqlx panics).
    let url = options.clone().filename("any").to_url_lossy();
    let says = |key: &str, value: &str| url.query_pairs().any(|(k, v)| k == key && v == value);
    let name = name.to_string_lossy();
    let private = is_private_memory(&name);
    if !private && !says("mode", "memory") {
        // A URI may say for itself that its cache is shared.
        let shares_cache = says("cache", "shared") || name.starts_with("file:");
        return Ok(SqlitePoolTraits {
            file: Some(Arc::new(PoolFile::new(shares_cache))),
            ..SqlitePoolTraits::default()
        });
    }
    if !private && says("cache", "shared") {
        return Ok(SqlitePoolTraits {
            shared_memory: Some(name.into()),
            ends_with_connections: true,
            file: None,
        });
    }
    if connections > 1 {
        Err(SchemaFault::MemoryPool { connections }.into())
    } else {
        Ok(SqlitePoolTraits {
            shared_memory: None,
            ends_with_connections: true,
            file: None,
        })
    }
}

/// Returns whether each connection reads the name as a database of its own (sqlite.org/inmemorydb.html,
/// sqlite.org/uri.html). A URI that shares a database in memory by name is refused with the rest: sqlx's own
/// `sqlite::memory:` is shared.
fn is_private_memory(name: &str) -> bool {
    let uri = name.strip_prefix("file:");
    let in_memory = |uri: &str| uri.starts_with(":memory:") || uri.contains("mode=memory");
    name.is_empty() || name == ":memory:" || uri.is_some_and(in_memory)
}
