//! PostgreSQL's part of a claim, and how an attempt opens its unit of work.

use super::super::backend::NotOpened;
use super::super::claim::{ClaimRequest, Found, HeldClaim};
use crate::decision::Lookup;
use crate::values::error::Error;

/// Facts that only a pool knows of its connections.
#[derive(Debug, Clone, Default)]
pub struct PgPoolTraits {
    /// Whether the connections keep prepared statements; behind a pooler in transaction mode they must not.
    /// `None` for a connection of the caller's.
    pub(super) keeps_statements: Option<bool>,
    /// Whether a unit of work is opened in one message, and ended in one.
    pub(super) fuses: bool,
    /// Tells the databases of this process apart, in the memory of recent keys. Zero for a connection of the
    /// caller's.
    pub(super) database: u64,
}

/// PostgreSQL's part of a claim.
#[derive(Debug)]
pub struct PgClaim {
    /// The table that was looked at: the record is written to this one or to none. Zero for a fused claim,
    /// whose table is kept in `idem.held`.
    pub(super) table_oid: i64,
    /// Whether the unit of work was opened in one message; then it ends in one.
    pub(super) fused: bool,
}

/// Why the last attempt could not open its unit of work in one message. Nothing was written; the transaction
/// that it began is still to be ended.
#[derive(Debug)]
pub enum FusedFallback {
    /// The identity has a record, and it is still to be read.
    Recorded,
    /// The identity has this record: the error showed it.
    Raised(Box<Lookup>),
    /// Another attempt holds the lock.
    InFlight,
    /// The connection does not know the statements, or may not run them as they are, or has not verified the
    /// table.
    Unprepared,
    /// The fused path does not apply.
    Unfit,
}

/// Why the first message raised: the reason to try again, or the error.
pub(super) enum NotFused {
    Again(FusedFallback),
    Failed(Error),
}

impl NotFused {
    /// Returns what the next attempt of the call starts from, after an attempt that has prepared the statements
    /// or not.
    pub(super) fn after(self, is_prepared: bool) -> NotOpened<Option<FusedFallback>> {
        match self {
            // The statements were prepared, and the connection still does not know them.
            Self::Again(FusedFallback::Unprepared) if is_prepared => {
                NotOpened::Again(Some(FusedFallback::Unfit))
            }
            Self::Again(fallback) => NotOpened::Again(Some(fallback)),
            Self::Failed(error) => NotOpened::Failed(error),
        }
    }
}

pub(super) type PgClaimRequest = ClaimRequest<PgPoolTraits>;
pub(super) type PgHeldClaim = HeldClaim<PgPoolTraits, PgClaim>;
pub(super) type PgFound = Found<PgPoolTraits, PgClaim>;
