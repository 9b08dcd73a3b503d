//! Tests of a claim that is outrun every time.

use std::time::Duration;

use super::*;
use crate::decision::Decision;
use crate::stores::claim::{Found, HeldClaim};
use crate::stores::lapsed::{Page, UnknownRecord};
use crate::stores::lease::{Due, Extended, Overdue};
use crate::stores::session::{BodyWrites, NewRecord, Purgeable, Session, Written, sealed::Sealed};
use crate::values::identity::Identity;
use crate::values::key::Scope;
use crate::values::policy::{Expiry, OnLapse};
use crate::values::record::RecordFormat;

/// A database in which another attempt is always quicker; `shows` says whether its record can be read.
struct Outrun {
    shows: fn(u32) -> bool,
    takes: u32,
}

impl Sealed for Outrun {}

impl LeaseSession for Outrun {
    async fn acquire(
        &mut self,
        _: &ClaimRequest<()>,
        _: &LeaseRequest<'_>,
    ) -> Result<Leased, CommitError> {
        self.takes += 1;
        Ok(Leased::Conflict {
            found_record: (self.shows)(self.takes),
        })
    }

    async fn update(&mut self, _: &ClaimRequest<()>, _: &Write<'_>) -> Result<bool, CommitError> {
        unreachable!("nothing was claimed")
    }

    async fn extend(&mut self, _: &str, _: &[Due<'_>]) -> Result<Extended, CommitError> {
        unreachable!("nothing was claimed")
    }

    async fn lapse(&mut self, _: &Overdue<'_>) -> Result<u64, CommitError> {
        unreachable!("nothing was claimed")
    }

    async fn unknown(&mut self, _: &Page<'_>) -> Result<Vec<UnknownRecord>, Error> {
        unreachable!("nothing is listed")
    }

    async fn count_unknown(&mut self, _: &str, _: &str) -> Result<u64, Error> {
        unreachable!("nothing is counted")
    }
}

impl Session for Outrun {
    type PoolTraits = ();
    type Claim = ();

    fn has_transaction(&self) -> bool {
        false
    }

    async fn claim(&mut self, _: &ClaimRequest<()>) -> Result<Found<(), ()>, Error> {
        unreachable!("a lease is claimed otherwise")
    }

    async fn look_up(&mut self, _: &ClaimRequest<()>) -> Result<Found<(), ()>, Error> {
        unreachable!("nothing was written")
    }

    async fn verify(&mut self, _: &HeldClaim<(), ()>) -> Result<(), Error> {
        unreachable!("a lease is claimed otherwise")
    }

    async fn set_savepoint(&mut self, _: &HeldClaim<(), ()>, _: bool) -> Result<(), Error> {
        unreachable!("a lease is claimed otherwise")
    }

    async fn release_savepoint(
        &mut self,
        _: &HeldClaim<(), ()>,
        _: BodyWrites,
    ) -> Result<(), Error> {
        unreachable!("a lease is claimed otherwise")
    }

    async fn write(&mut self, _: &HeldClaim<(), ()>, _: &NewRecord<'_>) -> Result<Written, Error> {
        unreachable!("a lease is claimed otherwise")
    }

    async fn release(&mut self, _: HeldClaim<(), ()>) -> Result<(), Error> {
        unreachable!("a lease is claimed otherwise")
    }

    async fn has_holds(&mut self, _: &str) -> Result<bool, Error> {
        unreachable!("nothing is deleted")
    }

    async fn lock_holds(&mut self, _: &str) -> Result<bool, Error> {
        unreachable!("nothing is deleted")
    }

    async fn is_held(&mut self, _: &str, _: &Scope) -> Result<bool, Error> {
        unreachable!("nothing is replaced")
    }

    async fn purge(&mut self, _: &str, _: Purgeable, _: u32) -> Result<u64, Error> {
        unreachable!("nothing is purged")
    }
}

async fn outrun(shows: fn(u32) -> bool) -> Result<LeaseAnswer, CommitError> {
    let key = "k".parse::<IdempotencyKey>().expect("a key");
    let identity = Identity::of_operation("mail", Scope::GLOBAL, key);
    let lease = Lease::new(Duration::from_secs(1), OnLapse::Retry).expect("within bounds");
    let lease_request = LeaseRequest {
        input: DecideInput {
            namespace: "mail",
            operation: "send",
            request: None,
            fingerprint: None,
            expiry: Expiry::Replay,
            lease_holder: None,
            opener: None,
        },
        lease,
        takes_over: None,
        fingerprint: None,
        format: RecordFormat::CLEAR,
        request: None,
    };
    let mut conn = Outrun { shows, takes: 0 };
    claim(
        &mut conn,
        &ClaimRequest::new("idem_record", identity),
        &lease_request,
    )
    .await
}

#[tokio::test]
async fn a_claim_that_is_outrun_again_and_again_is_in_flight_and_only_hidden_records_are_invisible()
{
    for shows in [|_| true, |n| n == 1, |n| n == MAX_CONFLICTS] {
        let answer = outrun(shows).await;
        assert!(
            matches!(
                answer,
                Ok(LeaseAnswer::Decided(Decision::Refuse(
                    Error::InFlight { .. }
                )))
            ),
            "{answer:?}"
        );
    }
    let answer = outrun(|_| false).await;
    assert!(
        matches!(answer, Err(CommitError::RolledBack(Error::RecordInvisible))),
        "{answer:?}"
    );
}
