//! The cases as data, and the work of each.

use idem_runtime::{Error, IdempotencyKey, Replayable};
use sqlx::PgPool;

use crate::Fault;
use crate::hand;
use crate::server::{Database, Path, Way, settled};
use crate::work::{
    HELD, NAMESPACE, Pay, PayError, fresh_key, key, one, pay_and_hold, pay_keeping_request,
    pay_leased, pay_one, pay_or_fail, pay_three, three,
};

/// The work of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Acquires a connection and returns it: the pool's pings without any work.
    Nothing,
    PlainOne,
    PlainThree,
    /// One SELECT of a record by its key.
    Select,
    One,
    Three,
    Replay,
    InFlight,
    Mismatch,
    /// `record_request`.
    KeepingRequest,
    /// `failures = "record"`, and the body succeeds.
    FailuresSuccess,
    /// `failures = "record"`, and the body fails permanently.
    FailuresFailure,
    FailuresReplay,
    /// In the caller's own transaction.
    Caller,
    Lease,
    HandUnfused,
    HandFused,
    HandFusedReplay,
}

/// One row of a table of cases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) deed: Deed,
    pub(crate) path: Path,
    /// The case that it is compared with.
    pub(crate) against: &'static str,
}

const fn case(name: &'static str, deed: Deed, path: Path, against: &'static str) -> Case {
    Case {
        name,
        deed,
        path,
        against,
    }
}

pub(crate) const PLAIN_1: &str = "plain, 1 statement";
pub(crate) const PLAIN_3: &str = "plain, 3 statements";
pub(crate) const SELECT: &str = "one SELECT";

/// All cases of one call.
pub(crate) const CASES: [Case; 26] = {
    use Path::{Fused, Unfused};
    [
        case(PLAIN_1, Deed::PlainOne, Fused, PLAIN_1),
        case(PLAIN_3, Deed::PlainThree, Fused, PLAIN_3),
        case(SELECT, Deed::Select, Fused, SELECT),
        case("first run, 1 statement, fused", Deed::One, Fused, PLAIN_1),
        case(
            "first run, 1 statement, unfused",
            Deed::One,
            Unfused,
            PLAIN_1,
        ),
        case(
            "first run, 3 statements, fused",
            Deed::Three,
            Fused,
            PLAIN_3,
        ),
        case(
            "first run, 3 statements, unfused",
            Deed::Three,
            Unfused,
            PLAIN_3,
        ),
        case("by hand, fused", Deed::HandFused, Fused, PLAIN_1),
        case("by hand, unfused", Deed::HandUnfused, Unfused, PLAIN_1),
        case("replay, fused", Deed::Replay, Fused, SELECT),
        case("replay, unfused", Deed::Replay, Unfused, SELECT),
        case(
            "replay by hand, fused",
            Deed::HandFusedReplay,
            Fused,
            SELECT,
        ),
        case("in flight, fused", Deed::InFlight, Fused, SELECT),
        case("in flight, unfused", Deed::InFlight, Unfused, SELECT),
        case("mismatch, fused", Deed::Mismatch, Fused, SELECT),
        case("mismatch, unfused", Deed::Mismatch, Unfused, SELECT),
        case(
            "record_request, fused",
            Deed::KeepingRequest,
            Fused,
            PLAIN_1,
        ),
        case(
            "record_request, unfused",
            Deed::KeepingRequest,
            Unfused,
            PLAIN_1,
        ),
        case(
            "failures = \"record\", success, fused",
            Deed::FailuresSuccess,
            Fused,
            PLAIN_1,
        ),
        case(
            "failures = \"record\", success, unfused",
            Deed::FailuresSuccess,
            Unfused,
            PLAIN_1,
        ),
        case(
            "failures = \"record\", failure, fused",
            Deed::FailuresFailure,
            Fused,
            PLAIN_1,
        ),
        case(
            "failures = \"record\", failure, unfused",
            Deed::FailuresFailure,
            Unfused,
            PLAIN_1,
        ),
        case(
            "failures = \"record\", replay, fused",
            Deed::FailuresReplay,
            Fused,
            SELECT,
        ),
        case(
            "failures = \"record\", replay, unfused",
            Deed::FailuresReplay,
            Unfused,
            SELECT,
        ),
        case("caller's transaction", Deed::Caller, Fused, PLAIN_1),
        case("lease mode", Deed::Lease, Fused, PLAIN_1),
    ]
};

/// The keys that exist before the first case: recorded, recorded as failed, and in flight.
pub(crate) struct Stage {
    recorded: IdempotencyKey,
    by_hand: IdempotencyKey,
    failed: IdempotencyKey,
    in_flight: IdempotencyKey,
}

impl Stage {
    /// Prepares the keys in this database. No call is in flight yet.
    pub(crate) async fn set(database: &Database) -> Result<Self, Fault> {
        let pool = database.pool(Way::DIRECT);
        let stage = Self {
            recorded: key("recorded"),
            by_hand: key("recorded by hand"),
            failed: key("failed"),
            in_flight: key("in flight"),
        };
        pay_one(&pool, &stage.recorded, &Pay::of(1)).await?;
        hand::fused(&pool, &stage.by_hand, &Pay::of(1)).await?;
        failure(pay_or_fail(&pool, &stage.failed, &declined()).await)?;
        settled(&pool).await;
        pool.close().await;
        Ok(stage)
    }

    /// Prepares the keys, and leaves one call in flight until the process ends. Its open
    /// transaction prevents vacuum from removing rows that are deleted later.
    pub(crate) async fn set_in_flight(database: &Database) -> Result<Self, Fault> {
        let stage = Self::set(database).await?;
        let (pool, held) = (database.pool(Way::DIRECT), stage.in_flight.clone());
        tokio::spawn(async move {
            if let Err(error) = pay_and_hold(&pool, &held, &Pay::of(1)).await {
                eprintln!("the call in flight has ended: {error}");
            }
        });
        HELD.0.acquire().await?.forget();
        Ok(stage)
    }

    /// Performs the call once. Fails if the result is not the one that the case measures.
    pub(crate) async fn perform(&self, deed: Deed, pool: &PgPool) -> Result<(), Fault> {
        match deed {
            Deed::Nothing => drop(pool.acquire().await?),
            Deed::PlainOne => {
                let mut tx = pool.begin().await?;
                one(&mut tx, &Pay::next()).await?;
                tx.commit().await?;
            }
            Deed::PlainThree => {
                let mut tx = pool.begin().await?;
                three(&mut tx, &Pay::next()).await?;
                tx.commit().await?;
            }
            Deed::Select => {
                sqlx::query_scalar::<_, Vec<u8>>(
                    "SELECT result FROM idem_record WHERE namespace = $1 AND scope = $2 AND key = $3",
                )
                .bind(NAMESPACE)
                .bind("")
                .bind(self.recorded.as_str())
                .fetch_one(pool)
                .await?;
            }
            Deed::One => fresh(&pay_one(pool, &fresh_key(), &Pay::next()).await?)?,
            Deed::Three => fresh(&pay_three(pool, &fresh_key(), &Pay::next()).await?)?,
            Deed::Replay => replayed(&pay_one(pool, &self.recorded, &Pay::of(1)).await?)?,
            Deed::InFlight => match pay_one(pool, &self.in_flight, &Pay::of(1)).await {
                Err(PayError::Idempotency(Error::InFlight { .. })) => {}
                other => return Err(format!("not in flight: {other:?}").into()),
            },
            Deed::Mismatch => match pay_one(pool, &self.recorded, &Pay::of(2)).await {
                Err(PayError::Idempotency(Error::Mismatch(_))) => {}
                other => return Err(format!("no mismatch: {other:?}").into()),
            },
            Deed::KeepingRequest => {
                fresh(&pay_keeping_request(pool, &fresh_key(), &Pay::next()).await?)?;
            }
            Deed::FailuresSuccess => {
                fresh(&pay_or_fail(pool, &fresh_key(), &Pay::next()).await?)?;
            }
            Deed::FailuresFailure => {
                failure(pay_or_fail(pool, &fresh_key(), &declined()).await)?;
            }
            Deed::FailuresReplay => {
                failure(pay_or_fail(pool, &self.failed, &declined()).await)?;
            }
            Deed::Caller => {
                let mut tx = pool.begin().await?;
                fresh(&pay_one(&mut tx, &fresh_key(), &Pay::next()).await?)?;
                tx.commit().await?;
            }
            Deed::Lease => {
                fresh(&pay_leased(pool, &fresh_key(), Pay::next(), pool.clone()).await?)?;
            }
            Deed::HandUnfused => by_hand(
                hand::unfused(pool, &fresh_key(), &Pay::next()).await?,
                false,
            )?,
            Deed::HandFused => {
                by_hand(hand::fused(pool, &fresh_key(), &Pay::next()).await?, false)?;
            }
            Deed::HandFusedReplay => {
                by_hand(hand::fused(pool, &self.by_hand, &Pay::of(1)).await?, true)?;
            }
        }
        Ok(())
    }
}

fn declined() -> Pay {
    Pay {
        declined: true,
        ..Pay::of(1)
    }
}

fn fresh<T>(answer: &Replayable<T>) -> Result<(), Fault> {
    if answer.replayed() {
        return Err("replayed, where the key is fresh".into());
    }
    Ok(())
}

fn replayed<T>(answer: &Replayable<T>) -> Result<(), Fault> {
    if answer.replayed() {
        return Ok(());
    }
    Err("run, where the key is recorded".into())
}

fn by_hand((_, replays): (crate::work::Paid, bool), expected: bool) -> Result<(), Fault> {
    if replays == expected {
        return Ok(());
    }
    Err("replayed or ran against the state of the key".into())
}

/// Checks that a recorded failure comes back as the same error, run or replayed.
fn failure<T>(answer: Result<Replayable<T>, PayError>) -> Result<(), Fault> {
    match answer {
        Err(PayError::Declined { .. }) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Err("no failure".into()),
    }
}
