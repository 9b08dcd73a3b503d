//! SQLite's part of a claim.

use std::fmt;

use super::super::claim::{ClaimRequest, Found, HeldClaim};
use super::running::RunningKey;

/// Facts that only a pool knows of its connections.
#[derive(Debug, Clone, Default)]
pub struct SqlitePoolTraits {
    /// The name of the database that the connections share, if its file has none (shared memory).
    pub(super) shared_memory: Option<String>,
    /// Whether the database ends with its connections (memory), so that none of them may be closed.
    pub(super) ends_with_connections: bool,
}

/// SQLite's part of a claim: the entry that keeps other attempts of this process away until it is dropped.
pub struct SqliteClaim {
    pub(super) running: Option<RunningKey>,
}

impl fmt::Debug for SqliteClaim {
    /// Says whether there is an entry.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteClaim")
            .field("is_running", &self.running.is_some())
            .finish()
    }
}

pub(super) type SqliteClaimRequest = ClaimRequest<SqlitePoolTraits>;
pub(super) type SqliteHeldClaim = HeldClaim<SqlitePoolTraits, SqliteClaim>;
pub(super) type SqliteFound = Found<SqlitePoolTraits, SqliteClaim>;
