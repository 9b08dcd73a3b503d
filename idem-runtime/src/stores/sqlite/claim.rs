//! SQLite's part of a claim.

use std::fmt;
use std::sync::Arc;

use super::super::claim::{ClaimRequest, Found, HeldClaim};
use super::pool_file::{FileTable, PoolFile};
use super::running::RunningKey;

/// Facts that only a pool knows of its connections.
#[derive(Debug, Clone, Default)]
pub struct SqlitePoolTraits {
    /// The name of the database that the connections share, if its file has none (shared memory).
    pub(super) shared_memory: Option<Arc<str>>,
    /// Whether the database ends with its connections (memory), so that none of them may be closed.
    pub(super) ends_with_connections: bool,
    /// The file, if the database is not in memory.
    pub(super) file: Option<Arc<PoolFile>>,
}

/// Which savepoint a claim has.
#[derive(Debug)]
pub(super) enum Savepoint {
    /// The one that the claim of the library's own unit of work has set. Its name is that of all units, so that the
    /// statements are kept: a transaction that the library has begun has no second unit in it.
    OfUnit {
        table: Arc<FileTable>,
        /// The number of the schema's last change when the table was claimed.
        schema_version: i64,
    },
    /// One of the attempt's own name. In a caller's transaction there may be several claims, ended in any order, and
    /// savepoints that were left by claims given up.
    OfAttempt,
}

/// SQLite's part of a claim.
pub struct SqliteClaim {
    /// The entry that keeps other attempts of this process away until it is dropped.
    pub(super) running: Option<RunningKey>,
    pub(super) savepoint: Savepoint,
}

impl fmt::Debug for SqliteClaim {
    /// Says whether there is an entry.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteClaim")
            .field("is_running", &self.running.is_some())
            .finish_non_exhaustive()
    }
}

pub(super) type SqliteClaimRequest = ClaimRequest<SqlitePoolTraits>;
pub(super) type SqliteHeldClaim = HeldClaim<SqlitePoolTraits, SqliteClaim>;
pub(super) type SqliteFound = Found<SqlitePoolTraits, SqliteClaim>;
