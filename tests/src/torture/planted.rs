//! The faults that are planted on purpose.

use super::calls::{Done, Fate, Refused};
use super::handlers::{Asking, Bank};

/// A fault built in on purpose, which the checker must find. The handlers that have it are written
/// by hand, and only the record's table and its values are the library's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Planted {
    /// None: the annotated handlers.
    Nothing,
    /// Look, then act, and nothing in the table that keeps two records of a key apart.
    NoConstraint,
    /// The effect commits first and the record afterwards.
    RecordAfter,
    /// A record that is found by a look-up before the claim is replayed to any request.
    MismatchSkipped,
    /// A COMMIT that is refused is taken for one that was executed.
    RefusalIgnored,
    /// An effect outside the database is made without a lease.
    LeaseIgnored,
    /// A lease's heartbeats wait for a connection behind the bodies that fill the pool.
    HeartbeatsShared,
}

impl Planted {
    /// The fault of this name.
    pub fn named(name: &str) -> Option<Self> {
        [
            Self::Nothing,
            Self::NoConstraint,
            Self::RecordAfter,
            Self::MismatchSkipped,
            Self::RefusalIgnored,
            Self::LeaseIgnored,
            Self::HeartbeatsShared,
        ]
        .into_iter()
        .find(|planted| format!("{planted:?}") == name)
    }
}

/// Answers a call by the handlers that have this fault; the flag says whether it was a replay.
///
/// # Errors
/// Why there is no result.
pub async fn answer<B: Bank>(
    bank: &B,
    planted: Planted,
    asking: Asking,
) -> Result<(Done, bool), Refused> {
    let Asking {
        key, asked, fate, ..
    } = &asking;
    if matches!(
        planted,
        Planted::Nothing | Planted::LeaseIgnored | Planted::HeartbeatsShared
    ) {
        return bank.call(asking).await;
    }
    if let Some(done) = bank.recorded(key).await? {
        return Ok((done, true));
    }
    match planted {
        Planted::NoConstraint => Ok((bank.act(key, *asked, true, Fate::Succeeds).await?, false)),
        Planted::RefusalIgnored if *fate == Fate::RefusedAtCommit => {
            Ok((bank.act(key, *asked, false, *fate).await?, false))
        }
        Planted::RecordAfter => {
            let done = bank.act(key, *asked, false, Fate::Succeeds).await?;
            bank.note(key, *asked, done).await
        }
        Planted::Nothing
        | Planted::MismatchSkipped
        | Planted::RefusalIgnored
        | Planted::LeaseIgnored
        | Planted::HeartbeatsShared => bank.call(asking).await,
    }
}
