//! The request of an attempt, its finding, and the claim that it holds while its body runs.
//!
//! Each database adds its own facts: `P` of a pool, `C` of a claim ([`Session::PoolTraits`] and
//! [`Session::Claim`](super::Session::Claim)).
//!
//! [`Session::PoolTraits`]: super::Session::PoolTraits

use std::borrow::Cow;

use crate::decision::Lookup;
use crate::values::identity::{Identity, LockKey};
use crate::values::record::AttemptId;

/// The request of one attempt to the store: the identity, the table and the attempt.
#[derive(Debug, Clone)]
pub struct ClaimRequest<P> {
    pub(crate) table: Cow<'static, str>,
    pub(crate) identity: Identity,
    pub(crate) lock_key: LockKey,
    pub(crate) attempt_id: AttemptId,
    /// Facts that only the pool of the connection knows; the default for a connection of the caller's.
    pub(crate) pool_traits: P,
}

impl<P: Default> ClaimRequest<P> {
    pub(crate) fn new(table: impl Into<Cow<'static, str>>, identity: Identity) -> Self {
        let table = table.into();
        let lock_key = identity.lock_key(&table);
        Self {
            table,
            identity,
            lock_key,
            attempt_id: AttemptId::random(),
            pool_traits: P::default(),
        }
    }
}

impl<P: Clone> ClaimRequest<P> {
    /// Returns the same request of a new attempt: nothing that this attempt holds counts as its own.
    pub(crate) fn anew(&self) -> Self {
        Self {
            table: self.table.clone(),
            identity: self.identity.clone(),
            lock_key: self.lock_key,
            attempt_id: AttemptId::random(),
            pool_traits: self.pool_traits.clone(),
        }
    }
}

impl<P> ClaimRequest<P> {
    /// Returns the same request of the same attempt, on a connection of the caller's.
    pub(crate) fn on_connection<Q: Default>(&self) -> ClaimRequest<Q> {
        ClaimRequest {
            table: self.table.clone(),
            identity: self.identity.clone(),
            lock_key: self.lock_key,
            attempt_id: self.attempt_id,
            pool_traits: Q::default(),
        }
    }

    /// Returns the name of the savepoint before the body: letters and hexadecimal digits, different
    /// for each attempt.
    pub(crate) fn savepoint_name(&self) -> String {
        format!("idem_{}", self.attempt_id)
    }
}

/// The claim that an attempt holds while its body runs.
#[derive(Debug)]
pub struct HeldClaim<P, C> {
    pub(crate) request: ClaimRequest<P>,
    /// Whether the transaction reads from one snapshot, taken before the lock.
    pub(crate) snapshot: bool,
    /// Whether the table is known to be fit to arbitrate.
    pub(crate) verified: bool,
    /// The dialect's part of the claim.
    pub(crate) dialect: C,
}

/// The finding of a claim, and the claim itself if the decision is to run the body.
#[derive(Debug)]
pub struct Found<P, C> {
    pub(crate) lookup: Lookup,
    pub(crate) claim: HeldClaim<P, C>,
}
