//! The order of a call, in one place: key, fingerprint, claim, body, finish, replay.
//!
//! A generated handler calls [`claim`] until it is told to run or is done, runs its body, and hands the result to
//! [`finish`] and what comes of that to [`settle`]. Three steps and not one, because the claim borrows the unit's
//! connection: a rival's win and a lost COMMIT are settled when it is free again.
//!
//! **Dropped at any await**, a call leaves the key fresh or complete: before COMMIT was sent the transaction is rolled
//! back (a pooled connection is closed, which the server answers with a rollback); after, it is the server's to end.
//! **A panic in the body** unwinds through the claim and ends the same way.

use sqlx::Transaction;

use super::answer::Answer;
use super::contract::Contract;
use super::request::Request;
use super::resolve;
use super::unit::{State, Unit};
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::outcome::{Decision, decide};
use crate::payload;
use crate::policy::OnConflict;
use crate::record::{AttemptId, Status};
use crate::replay::Replayable;
use crate::spec::Operation;
use crate::store::{Ask, Backend, CommitError, Entry, Held, Session, Written};
use crate::telemetry::Call;

/// What a call does next.
pub enum Step<'u, DB: Backend, T, E> {
    /// Run the body in this claim's transaction.
    Run(Claim<'u, DB>),
    /// Return this.
    Done(Result<Replayable<T>, E>),
    /// Call [`claim`] again.
    Again,
}

/// The right to run one body, and the transaction to run it in.
pub struct Claim<'u, DB: Backend> {
    tx: Transaction<'u, DB>,
    state: &'u mut State,
    /// Whether BEGIN and COMMIT are ours.
    own: bool,
    /// `None`: a call without a key.
    held: Option<Held>,
    replaces: Option<AttemptId>,
    attempt: i32,
    sheet: Sheet,
}

/// What will be written of the request, fixed before the body can change anything.
struct Sheet {
    operation: Operation,
    fingerprint: Option<Fingerprint>,
    request: Option<Vec<u8>>,
}

/// What an attempt to claim came to.
enum Attempt<'u, DB: Backend> {
    Claimed(Claim<'u, DB>),
    Decided(Decision),
    Again,
}

/// Key, fingerprint, claim: asks the store whose turn it is.
pub async fn claim<'u, DB: Backend, T, E>(
    unit: &'u mut Unit<'_, DB>,
    request: &mut Request,
    contract: &Contract<T, E>,
) -> Step<'u, DB, T, E> {
    let waits = unit.state.waits;
    let answer: Answer<T, E> = match attempt(unit, request, contract.records_failures()).await {
        Ok(Attempt::Claimed(claim)) => return Step::Run(claim),
        Ok(Attempt::Again) => return Step::Again,
        Ok(Attempt::Decided(decision)) => Answer::of(decision, || Error::FreshTransactionNeeded),
        Err(error) => Answer::Refused(error),
    };
    tell(request, &answer, waits);
    Step::Done(answer.into_result(contract))
}

async fn attempt<'u, DB: Backend>(
    unit: &'u mut Unit<'_, DB>,
    request: &mut Request,
    recording: bool,
) -> Result<Attempt<'u, DB>, Error> {
    if let Some(error) = unit.state.failed.take() {
        let (conn, ..) = unit.connect().await.map_err(DB::fold)?;
        DB::clear(conn).await;
        return Err(error);
    }
    if let Some(pause) = unit.state.pause.take() {
        unit.part();
        tokio::time::sleep(pause).await;
    }
    let identity = request.settle()?.cloned();
    let operation = *request.operation();
    let home = unit.pool().map_or(Ok(None), DB::home)?;
    let mut ask = identity.map(|identity| Ask {
        home,
        ..Ask::new(operation.table_name(), identity)
    });

    let (conn, state, pool) = unit.connect().await.map_err(DB::fold)?;
    let own = !conn.has_transaction();
    let pooled = pool.is_some();
    let mut running = None;
    if own && let Some(ask) = &mut ask {
        match DB::peek(conn, ask).await {
            Ok(None) => {}
            Ok(Some(seen)) => {
                ask.home = seen.home.clone().or(ask.home.take());
                let (sighting, held) = seen.split(ask.clone());
                match decide(sighting, request.question()) {
                    Decision::Run { .. } => running = held.running,
                    decision => return Ok(wait_or(decision, state, &operation)),
                }
            }
            Err(error) if DB::is_momentary(&error) && state.hold_on() => return Ok(Attempt::Again),
            Err(error) => return Err(error),
        }
    }
    state.armed = own;
    let begun = match (&ask, own) {
        (Some(ask), true) => DB::open(conn, ask).await.map(|(tx, seen)| (tx, Some(seen))),
        (None, true) => DB::open_plain(conn).await.map(|tx| (tx, None)),
        (ask, false) => DB::join(conn, ask.as_ref()).await,
    };
    let (mut tx, seen) = match begun {
        Ok(begun) => begun,
        Err(error) if own && DB::is_momentary(&error) && state.hold_on() => {
            state.armed = false;
            return Ok(Attempt::Again);
        }
        Err(error) if own && !pooled => {
            // The connection is the caller's: it goes back outside any transaction, by the next step.
            state.failed = Some(error);
            return Ok(Attempt::Again);
        }
        Err(error) => return Err(error),
    };
    state.armed = own && pooled;

    let sheet = Sheet {
        operation,
        fingerprint: request.fingerprint(),
        request: request.recorded_request().map(<[u8]>::to_vec),
    };
    let Some((ask, seen)) = ask.zip(seen) else {
        let claim = Claim {
            tx,
            state,
            own,
            held: None,
            replaces: None,
            attempt: 1,
            sheet,
        };
        return Ok(Attempt::Claimed(claim));
    };
    let (sighting, mut held) = seen.split(ask);
    held.running = held.running.or(running);
    match decide(sighting, request.question()) {
        Decision::Run { replaces, attempt } => match prepare(&mut *tx, &held, recording).await {
            Ok(()) => {
                let claim = Claim {
                    tx,
                    state,
                    own,
                    held: Some(held),
                    replaces,
                    attempt,
                    sheet,
                };
                Ok(Attempt::Claimed(claim))
            }
            Err(error) => {
                roll_back(tx, state).await;
                Err(error)
            }
        },
        decision => {
            roll_back(tx, state).await;
            Ok(wait_or(decision, state, &operation))
        }
    }
}

/// The last steps before the body.
async fn prepare<S: Session>(conn: &mut S, held: &Held, recording: bool) -> Result<(), Error> {
    if !held.verified {
        conn.verify(held).await?;
    }
    conn.mark(held, recording).await
}

fn wait_or<'u, DB: Backend>(
    decision: Decision,
    state: &mut State,
    operation: &Operation,
) -> Attempt<'u, DB> {
    match (&decision, operation.policy().on_conflict) {
        (Decision::Refuse(Error::InFlight { .. }), OnConflict::Wait(wait)) if state.wait(wait) => {
            Attempt::Again
        }
        _ => Attempt::Decided(decision),
    }
}

/// The transaction the body sees.
pub fn tx<'a, 'u, DB: Backend>(claim: &'a mut Claim<'u, DB>) -> &'a mut Transaction<'u, DB> {
    &mut claim.tx
}

/// What became of the body's result, with the claim gone.
pub struct Finished<T, E>(pub(super) Ending<T, E>);

pub(super) enum Ending<T, E> {
    Answered(Answer<T, E>),
    /// Another attempt's record stands in the way; all of ours is rolled back.
    Rival {
        ask: Ask,
        snapshot: bool,
    },
    /// The body failed while reading from a snapshot older than the lock: a rival may have won since.
    FailedInSnapshot {
        ask: Ask,
        error: E,
    },
    /// COMMIT was sent and its answer is lost. `answer` holds if it was executed.
    Ambiguous {
        ask: Option<Ask>,
        lost: sqlx::Error,
        answer: Answer<T, E>,
    },
}

/// Finish: records the result and commits it with the body's writes, or rolls both back.
pub async fn finish<DB: Backend, T, E>(
    claim: Claim<'_, DB>,
    result: Result<T, E>,
    contract: &Contract<T, E>,
) -> Finished<T, E> {
    let operation = claim.sheet.operation;
    Finished(match result {
        Ok(value) if claim.held.is_none() => commit_only(claim, value).await,
        Ok(value) => match contract.encode(operation.name(), &value) {
            Ok(bytes) => record(claim, Status::Completed, &bytes, Answer::Executed(value)).await,
            Err(error) => {
                roll_back(claim.tx, claim.state).await;
                Ending::Answered(Answer::Refused(error))
            }
        },
        Err(error) => match contract.permanent(&error).filter(|_| claim.held.is_some()) {
            Some(failure) => match payload::encode(operation.name(), &failure) {
                Ok(bytes) => {
                    record(
                        claim,
                        Status::Failed,
                        &bytes,
                        Answer::FailureRecorded(error),
                    )
                    .await
                }
                Err(refusal) => {
                    roll_back(claim.tx, claim.state).await;
                    Ending::Answered(Answer::Refused(refusal))
                }
            },
            None => {
                roll_back(claim.tx, claim.state).await;
                match claim.held {
                    Some(held) if claim.own && held.snapshot => Ending::FailedInSnapshot {
                        ask: held.ask,
                        error,
                    },
                    _ => Ending::Answered(Answer::Failed(error)),
                }
            }
        },
    })
}

/// Writes the record as the last statement and commits.
async fn record<DB: Backend, T, E>(
    claim: Claim<'_, DB>,
    status: Status,
    payload: &[u8],
    answer: Answer<T, E>,
) -> Ending<T, E> {
    let Claim {
        mut tx,
        state,
        own,
        held,
        replaces,
        attempt,
        sheet,
    } = claim;
    let Some(held) = held else {
        return Ending::Answered(answer);
    };
    let failed = status == Status::Failed;
    let entry = Entry {
        status,
        operation: sheet.operation.name(),
        fingerprint: sheet.fingerprint,
        request: sheet.request.as_deref(),
        result: (!failed).then_some(payload),
        failure: failed.then_some(payload),
        retention: i64::try_from(sheet.operation.policy().retention.as_micros())
            .unwrap_or(i64::MAX),
        replaces,
        attempt,
    };
    let written = match tx.unmark(&held, failed).await {
        Ok(()) => tx.write(&held, &entry).await,
        Err(error) => Err(error),
    };
    match written {
        Ok(Written::Done) => {}
        Ok(Written::Rival) => {
            roll_back(tx, state).await;
            return Ending::Rival {
                snapshot: held.snapshot,
                ask: held.ask,
            };
        }
        Err(error) => {
            roll_back(tx, state).await;
            return Ending::Answered(Answer::Refused(error));
        }
    }
    commit(tx, state, own, Some(held.ask), answer).await
}

async fn commit_only<DB: Backend, T, E>(claim: Claim<'_, DB>, value: T) -> Ending<T, E> {
    let Claim { tx, state, own, .. } = claim;
    commit(tx, state, own, None, Answer::Unkeyed(value)).await
}

/// COMMIT of our own unit, or RELEASE of the savepoint in the caller's.
async fn commit<DB: Backend, T, E>(
    tx: Transaction<'_, DB>,
    state: &mut State,
    own: bool,
    ask: Option<Ask>,
    answer: Answer<T, E>,
) -> Ending<T, E> {
    let committed = if own {
        DB::commit(tx).await
    } else {
        tx.commit()
            .await
            .map_err(|error| CommitError::RolledBack(DB::fold(error)))
    };
    match committed {
        Ok(()) => {
            state.armed = false;
            Ending::Answered(answer)
        }
        Err(CommitError::RolledBack(error)) => Ending::Answered(Answer::Refused(error)),
        Err(CommitError::Ambiguous(lost)) => Ending::Ambiguous { ask, lost, answer },
    }
}

/// Ends the transaction at once: a dropped one only queues its ROLLBACK. If this fails the unit stays armed.
async fn roll_back<DB: Backend>(tx: Transaction<'_, DB>, state: &mut State) {
    if tx.rollback().await.is_ok() {
        state.armed = false;
    }
}

/// Replay: settles what the claim could not, and answers.
pub async fn settle<DB: Backend, T, E>(
    mut unit: Unit<'_, DB>,
    finished: Finished<T, E>,
    request: Request,
    contract: &Contract<T, E>,
) -> Result<Replayable<T>, E> {
    let answer = match finished.0 {
        Ending::Answered(answer) => answer,
        Ending::Rival { ask, snapshot } => {
            resolve::rival(&mut unit, &request, &ask, snapshot).await
        }
        Ending::FailedInSnapshot { ask, error } => {
            resolve::after_failure(&mut unit, &request, &ask, error).await
        }
        Ending::Ambiguous {
            ask: Some(ask),
            lost,
            answer,
        } => resolve::lost_commit(&mut unit, &request, &ask, lost, answer).await,
        Ending::Ambiguous {
            ask: None, lost, ..
        } => Answer::Refused(Error::CommitUnknown(lost.into())),
    };
    tell(&request, &answer, unit.state.waits);
    answer.into_result(contract)
}

fn tell<T, E>(request: &Request, answer: &Answer<T, E>, waits: u32) {
    Call {
        operation: request.operation(),
        identity: request.identity(),
        outcome: answer.outcome(),
        record: answer.record(),
        refusal: answer.refusal(),
        waits,
        elapsed: request.started().elapsed(),
    }
    .emit();
}
