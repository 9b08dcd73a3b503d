//! What the cases do.

use std::sync::atomic::{AtomicUsize, Ordering};

use idem_runtime::{Error, IdempotencyKey, Replayable};
use sqlx::PgPool;
use uuid::Uuid;

use crate::Fault;
use crate::server::{Database, Way, settled};
use crate::work::{
    HELD, NAMESPACE, Paid, Pay, PayError, fresh_key, key, one, pay_and_hold, pay_keeping_request,
    pay_leased, pay_one, pay_or_fail, pay_patiently, pay_three, three,
};
use crate::{hand, textbook};

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
    /// As `One`, with a random key.
    OneAtRandom,
    Three,
    Replay,
    /// As it comes to another process than the one that ran the first call.
    ReplayElsewhere,
    InFlight,
    /// Waits for the call in flight.
    Wait,
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
    /// A row for the key, inserted and updated in the body's transaction.
    Textbook,
    TextbookReplay,
    /// A row for the key, inserted and updated in transactions of their own around the body's.
    TextbookPair,
    /// Of ten calls, so many are replays and the others first runs.
    Mixed {
        replays: usize,
        elsewhere: bool,
    },
}

impl Deed {
    /// Returns what this call does. Replays are spread evenly among the calls.
    fn drawn(self) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        match self {
            Self::Mixed { replays, elsewhere } => {
                // Seven and ten have no common divisor.
                let turn = COUNT.fetch_add(1, Ordering::Relaxed) * 7 % 10;
                match (turn < replays, elsewhere) {
                    (true, false) => Self::Replay,
                    (true, true) => Self::ReplayElsewhere,
                    (false, _) => Self::One,
                }
            }
            other => other,
        }
    }
}

/// The keys that exist before the first case: recorded here and elsewhere, recorded as failed, and in
/// flight.
pub(crate) struct Stage {
    recorded: IdempotencyKey,
    by_hand: IdempotencyKey,
    by_textbook: IdempotencyKey,
    failed: IdempotencyKey,
    in_flight: IdempotencyKey,
    /// The number of the next of the [`ELSEWHERE`] keys.
    elsewhere: AtomicUsize,
}

/// How many keys are recorded as if by another process: the record of the recorded key, copied in
/// SQL. They are replayed in turn. When one comes again, this process has replayed so many others
/// since that it no longer remembers the key.
const ELSEWHERE: usize = 10_000;

const COPY: &str = "INSERT INTO idem_record (created_at, expires_at, attempt_id, attempt, status, fingerprint_version, \
     codec, namespace, scope, key, operation, fingerprint, result) \
     SELECT r.created_at, r.expires_at, gen_random_uuid(), r.attempt, r.status, r.fingerprint_version, \
     r.codec, r.namespace, r.scope, 'elsewhere ' || n, r.operation, r.fingerprint, r.result \
     FROM idem_record AS r, generate_series(0, $1 - 1) AS n WHERE r.key = 'recorded'";

impl Stage {
    /// Returns a stage for calls with fresh keys only: nothing is recorded.
    pub(crate) fn bare() -> Self {
        Self {
            recorded: key("recorded"),
            by_hand: key("recorded by hand"),
            by_textbook: key("recorded by textbook"),
            failed: key("failed"),
            in_flight: key("in flight"),
            elsewhere: AtomicUsize::new(0),
        }
    }

    /// Prepares the keys in this database. No call is in flight yet.
    pub(crate) async fn set(database: &Database) -> Result<Self, Fault> {
        let pool = database.pool(Way::DIRECT);
        let stage = Self::bare();
        pay_one(&pool, &stage.recorded, &Pay::of(1)).await?;
        let copies = sqlx::query(COPY).bind(i32::try_from(ELSEWHERE)?);
        copies.execute(&pool).await?;
        textbook::in_one_transaction(&pool, &stage.by_textbook, &Pay::of(1)).await?;
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
        match deed.drawn() {
            Deed::Mixed { .. } => return Err("a call that was not drawn".into()),
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
            Deed::OneAtRandom => {
                let random = key(&Uuid::new_v4().to_string());
                fresh(&pay_one(pool, &random, &Pay::next()).await?)?;
            }
            Deed::Three => fresh(&pay_three(pool, &fresh_key(), &Pay::next()).await?)?,
            Deed::Replay => replayed(&pay_one(pool, &self.recorded, &Pay::of(1)).await?)?,
            Deed::ReplayElsewhere => {
                let number = self.elsewhere.fetch_add(1, Ordering::Relaxed) % ELSEWHERE;
                let known = key(&format!("elsewhere {number}"));
                replayed(&pay_one(pool, &known, &Pay::of(1)).await?)?;
            }
            Deed::InFlight => match pay_one(pool, &self.in_flight, &Pay::of(1)).await {
                Err(PayError::Idempotency(Error::InFlight { .. })) => {}
                other => return Err(format!("not in flight: {other:?}").into()),
            },
            Deed::Wait => {
                pay_patiently(pool, &self.in_flight, &Pay::of(1)).await?;
            }
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
            Deed::Textbook => {
                let (key, cmd) = (fresh_key(), Pay::next());
                by_hand(textbook::in_one_transaction(pool, &key, &cmd).await?, false)?;
            }
            Deed::TextbookReplay => {
                let (key, cmd) = (&self.by_textbook, Pay::of(1));
                by_hand(textbook::in_one_transaction(pool, key, &cmd).await?, true)?;
            }
            Deed::TextbookPair => {
                let (key, cmd) = (fresh_key(), Pay::next());
                by_hand(pair(pool, &key, &cmd).await?, false)?;
            }
        }
        Ok(())
    }
}

/// Inserts the key, pays as the leased handler does, and updates the key, each in a transaction of its
/// own.
async fn pair(pool: &PgPool, key: &IdempotencyKey, cmd: &Pay) -> Result<(Paid, bool), Fault> {
    let hash = textbook::hash(cmd)?;
    let mut conn = pool.acquire().await?;
    if !textbook::started(&mut conn, key, &hash).await? {
        return Ok((textbook::recorded(&mut conn, key, &hash).await?, true));
    }
    drop(conn);
    let mut tx = pool.begin().await?;
    let paid = one(&mut tx, cmd).await?;
    tx.commit().await?;
    let mut conn = pool.acquire().await?;
    textbook::complete(&mut conn, key, paid).await?;
    Ok((paid, false))
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

fn by_hand((_, replays): (Paid, bool), expected: bool) -> Result<(), Fault> {
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
