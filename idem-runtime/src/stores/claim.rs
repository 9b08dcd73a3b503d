//! What an attempt asks for, what it finds, and what it holds while its body runs.

use super::running::RunningKey;
use crate::decision::{Lock, Lookup};
use crate::values::identity::{Identity, LockKey};
use crate::values::record::{AttemptId, Record, Timestamp};

/// One attempt's question to the store: which identity, in which table, asked by whom.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    pub(crate) table: std::borrow::Cow<'static, str>,
    pub(crate) identity: Identity,
    #[cfg_attr(
        not(any(feature = "postgres", feature = "sqlite")),
        allow(
            dead_code,
            reason = "only PostgreSQL and SQLite have a place where names may not go"
        )
    )]
    pub(crate) lock_key: LockKey,
    pub(crate) attempt_id: AttemptId,
    pub(crate) pool_traits: PoolTraits,
    /// Whether the look before the transaction has met a reclaimable record: then that row is to be
    /// claimed, where a row is the claim.
    #[cfg_attr(
        not(feature = "mysql"),
        allow(dead_code, reason = "only on MySQL a row is the claim")
    )]
    pub(crate) found_reclaimable: bool,
    /// Why the last attempt could not open its unit of work in one message, if it tried.
    #[cfg_attr(
        not(feature = "postgres"),
        allow(
            dead_code,
            reason = "only PostgreSQL runs several statements in one message"
        )
    )]
    pub(crate) fused_fallback: Option<FusedFallback>,
}

/// Why a unit of work could not be opened in one message. Nothing has happened; what was begun is still
/// to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FusedFallback {
    /// The identity has a record.
    Recorded,
    /// Another attempt has the lock.
    InFlight,
    /// This connection does not know the statements, or has not verified the table.
    Unprepared,
    /// It does not go that way here.
    Unfit,
}

/// What only a pool knows of its connections.
#[derive(Debug, Clone, Default)]
pub struct PoolTraits {
    /// The database that they share, where its file has no name (SQLite's shared memory).
    pub(crate) database_path: Option<String>,
    /// Whether they keep prepared statements; behind a pooler in transaction mode they must not.
    #[cfg_attr(
        not(feature = "postgres"),
        allow(
            dead_code,
            reason = "only PostgreSQL has statements with names to mix up"
        )
    )]
    pub(crate) keeps_statements: Option<bool>,
    /// Whether units of work are opened and ended in one message each, where they can be.
    pub(crate) fuses: bool,
    /// Whether the database ends with its connections (SQLite's memory), so that none of them may be
    /// closed to be rid of what it was doing.
    pub(crate) ends_with_connections: bool,
}

impl ClaimRequest {
    pub(crate) fn new(
        table: impl Into<std::borrow::Cow<'static, str>>,
        identity: Identity,
    ) -> Self {
        let table = table.into();
        let lock_key = identity.lock_key(&table);
        Self::with_lock_key(table, identity, lock_key)
    }

    /// The same, of an identity whose mark for this table is known.
    pub(crate) fn with_lock_key(
        table: impl Into<std::borrow::Cow<'static, str>>,
        identity: Identity,
        lock_key: LockKey,
    ) -> Self {
        Self {
            table: table.into(),
            identity,
            lock_key,
            attempt_id: AttemptId::random(),
            pool_traits: PoolTraits::default(),
            found_reclaimable: false,
            fused_fallback: None,
        }
    }

    /// The same question asked by a new attempt: nothing that an earlier attempt held counts as
    /// this one's.
    pub(crate) fn anew(&self) -> Self {
        Self {
            attempt_id: AttemptId::random(),
            found_reclaimable: false,
            fused_fallback: None,
            ..self.clone()
        }
    }

    /// The name of the savepoint before the body: no other attempt's, and nothing but letters and
    /// hex.
    #[cfg_attr(
        not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
        allow(dead_code, reason = "a store in memory needs no savepoint")
    )]
    pub(crate) fn savepoint_name(&self) -> String {
        format!("idem_{}", self.attempt_id)
    }
}

/// What a look at the store showed.
#[derive(Debug)]
pub struct ClaimLookup {
    /// What the decision is made from.
    pub(crate) record: Option<Record>,
    pub(crate) lock: Lock,
    pub(crate) now: Timestamp,
    /// Which table it was: on PostgreSQL its oid. The record is written to this one or to none.
    pub(crate) table_oid: i64,
    /// Whether this transaction reads from one snapshot, taken before the lock.
    pub(crate) snapshot: bool,
    /// Whether this table is known to be fit to arbitrate.
    pub(crate) verified: bool,
    /// Whether claiming has put a placeholder where the record will be.
    pub(crate) placeholder: bool,
    /// Keeps other attempts of this process away, where the database has no lock to try.
    pub(crate) running: Option<RunningKey>,
    /// The database looked at, where its name is known: SQLite's file.
    pub(crate) database_path: Option<String>,
}

impl ClaimLookup {
    /// Splits what is decided from what is held.
    pub(crate) fn split(self, request: ClaimRequest) -> (Lookup, HeldClaim) {
        let lookup = Lookup {
            record: self.record,
            lock: self.lock,
            now: self.now,
        };
        let claim = HeldClaim {
            request,
            table_oid: self.table_oid,
            snapshot: self.snapshot,
            verified: self.verified,
            placeholder: self.placeholder,
            fused: false,
            running: self.running,
        };
        (lookup, claim)
    }
}

/// What an attempt holds while its body runs.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub struct HeldClaim {
    pub(crate) request: ClaimRequest,
    #[cfg_attr(
        not(feature = "postgres"),
        allow(dead_code, reason = "only PostgreSQL finds tables by a search path")
    )]
    pub(crate) table_oid: i64,
    pub(crate) snapshot: bool,
    pub(crate) verified: bool,
    #[cfg_attr(
        not(feature = "mysql"),
        allow(dead_code, reason = "only on MySQL a row is the claim")
    )]
    pub(crate) placeholder: bool,
    /// Whether the unit of work was opened in one message; then it ends in one.
    #[cfg_attr(
        not(feature = "postgres"),
        allow(
            dead_code,
            reason = "only PostgreSQL runs several statements in one message"
        )
    )]
    pub(crate) fused: bool,
    #[allow(dead_code, reason = "held for its Drop")]
    pub(crate) running: Option<RunningKey>,
}
