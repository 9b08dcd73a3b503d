//! MySQL's part of a claim.

use super::super::claim::{ClaimRequest, Found, HeldClaim};
use crate::decision::{Lock, Lookup};
use crate::values::record::Timestamp;

/// Facts that only a pool knows of its connections.
#[derive(Debug, Clone, Copy, Default)]
pub struct MySqlPoolTraits {
    /// A hash of the server's address and the database that the pool's options name. `None` for a connection of
    /// the caller's.
    pub(super) address: Option<u64>,
}

/// MySQL's part of a claim.
#[derive(Debug)]
pub struct MySqlClaim {
    /// Whether claiming has inserted a placeholder for the record.
    pub(super) placeholder: bool,
    /// Whether claiming has locked the row of the record that is to be replaced.
    pub(super) locked: bool,
    /// The server and database in which the table was seen, if it was.
    pub(super) database_path: Option<String>,
    /// Whether the table's definition is still to be read: with the record.
    pub(super) unread: bool,
}

/// The facts that an attempt has learnt before BEGIN.
#[derive(Debug, Default)]
pub struct MySqlApproach {
    /// Whether the look-up has found a record that is to be replaced; then its row is claimed.
    pub(super) found_record: bool,
    /// The server and database in which the table is known to be fit, if this attempt is to begin and claim in one
    /// message.
    pub(super) fit_in: Option<String>,
    /// Whether BEGIN and claim have failed in one message. The transaction that it began is still to be ended,
    /// and this attempt looks first and begins by itself.
    pub(super) not_fused: bool,
}

pub(super) type MySqlClaimRequest = ClaimRequest<MySqlPoolTraits>;
pub(super) type MySqlHeldClaim = HeldClaim<MySqlPoolTraits, MySqlClaim>;
pub(super) type MySqlFound = Found<MySqlPoolTraits, MySqlClaim>;

/// Returns the finding of a claim if another attempt holds the lock: no record is visible.
pub(super) fn refused(request: &MySqlClaimRequest) -> MySqlFound {
    MySqlFound {
        lookup: Lookup {
            record: None,
            lock: Lock::Refused,
            now: Timestamp::from_micros(0),
        },
        claim: MySqlHeldClaim {
            request: request.clone(),
            // No other attempt can have won between a snapshot and the claim: the claim would have met its
            // record.
            snapshot: false,
            verified: false,
            dialect: MySqlClaim {
                placeholder: false,
                locked: false,
                database_path: None,
                unread: false,
            },
        },
    }
}

/// Returns the same with another answer to the request for the lock.
pub(super) fn seen_nothing(request: &MySqlClaimRequest, lock: Lock) -> MySqlFound {
    let mut found = refused(request);
    found.lookup.lock = lock;
    found
}
