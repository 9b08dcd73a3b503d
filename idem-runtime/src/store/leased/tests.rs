//! A claim that is outrun every time.

use std::time::Duration;

use super::*;
use crate::identity::Identity;
use crate::key::Scope;
use crate::outcome::Decision;
use crate::policy::{Expiry, OnLapse};
use crate::store::lease::{Due, Extended, Listed, Overdue, Page};
use crate::store::session::{Entry, Held, Seen, Session, Spent, Written, sealed::Sealed};

/// A database in which somebody is always quicker; whether it shows whose record that was.
struct Outrun {
    shows: fn(u32) -> bool,
    takes: u32,
}

impl Sealed for Outrun {}

impl LeaseSession for Outrun {
    async fn take(&mut self, _: &Ask, _: &Terms<'_>) -> Result<Leased, CommitError> {
        self.takes += 1;
        Ok(Leased::Rival {
            seen: (self.shows)(self.takes),
        })
    }

    async fn alter(&mut self, _: &Ask, _: &Write<'_>) -> Result<bool, CommitError> {
        unreachable!("nothing was claimed")
    }

    async fn extend(&mut self, _: &str, _: &[Due<'_>]) -> Result<Extended, CommitError> {
        unreachable!("nothing was claimed")
    }

    async fn lapse(&mut self, _: &Overdue<'_>) -> Result<u64, CommitError> {
        unreachable!("nothing was claimed")
    }

    async fn unknown(&mut self, _: &Page<'_>) -> Result<Vec<Listed>, Error> {
        unreachable!("nothing is listed")
    }

    async fn count_unknown(&mut self, _: &str, _: &str) -> Result<u64, Error> {
        unreachable!("nothing is counted")
    }
}

impl Session for Outrun {
    fn has_transaction(&self) -> bool {
        false
    }

    async fn claim(&mut self, _: &Ask) -> Result<Seen, Error> {
        unreachable!("a lease is claimed otherwise")
    }

    async fn look_up(&mut self, _: &Ask) -> Result<Seen, Error> {
        unreachable!("nothing was written")
    }

    async fn verify(&mut self, _: &Held) -> Result<(), Error> {
        unreachable!("a lease is claimed otherwise")
    }

    async fn mark(&mut self, _: &Held, _: bool) -> Result<(), Error> {
        unreachable!("a lease is claimed otherwise")
    }

    async fn unmark(&mut self, _: &Held, _: bool) -> Result<(), Error> {
        unreachable!("a lease is claimed otherwise")
    }

    async fn write(&mut self, _: &Held, _: &Entry<'_>) -> Result<Written, Error> {
        unreachable!("a lease is claimed otherwise")
    }

    async fn release(&mut self, _: Held) -> Result<(), Error> {
        unreachable!("a lease is claimed otherwise")
    }

    async fn purge(&mut self, _: &str, _: Spent, _: u32) -> Result<u64, Error> {
        unreachable!("nothing is purged")
    }
}

async fn outrun(shows: fn(u32) -> bool) -> Result<Result<i32, Decision>, CommitError> {
    let key = "k".parse::<IdempotencyKey>().expect("a key");
    let identity = Identity::of_operation("mail", Scope::GLOBAL, key);
    let lease = Lease::new(Duration::from_secs(1), OnLapse::Retry).expect("within bounds");
    let terms = Terms {
        question: Question {
            namespace: "mail",
            operation: "send",
            request: None,
            fingerprint: None,
            expiry: Expiry::Replay,
            lessee: None,
        },
        lease,
        fingerprint: None,
        request: None,
    };
    let mut conn = Outrun { shows, takes: 0 };
    claim(&mut conn, &Ask::new("idem_record", identity), &terms).await
}

#[tokio::test]
async fn a_claim_that_is_outrun_again_and_again_is_in_flight_and_only_hidden_records_are_invisible()
{
    for shows in [|_| true, |n| n == 1, |n| n == RIVALS] {
        let answer = outrun(shows).await;
        assert!(
            matches!(answer, Ok(Err(Decision::Refuse(Error::InFlight { .. })))),
            "{answer:?}"
        );
    }
    let answer = outrun(|_| false).await;
    assert!(
        matches!(answer, Err(CommitError::RolledBack(Error::RecordInvisible))),
        "{answer:?}"
    );
}
