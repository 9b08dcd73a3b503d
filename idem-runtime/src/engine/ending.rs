//! Ends a claim: records and commits, or rolls back.

use sqlx::Transaction;
use sqlx_core::transaction::TransactionManager as _;

use super::answer::Answer;
use super::claim::{self, Claim, depth};
use super::contract::Contract;
use super::unit::State;
use crate::error::Error;
use crate::record::Status;
use crate::store::{self, Ask, Backend, CommitError, Entry, Sealed, Written};

/// How a claim ended.
pub(super) enum Ending<T, E> {
    Answered(Answer<T, E>),
    /// Another attempt's record made the INSERT fail; this attempt is rolled back. `refusal` is the
    /// database's error if it may have another cause; it is the answer if no such record exists.
    Rival {
        ask: Ask,
        snapshot: bool,
        refusal: Option<Error>,
    },
    /// The record was refused; this attempt is rolled back. `sealed` is set if COMMIT was in the
    /// same message.
    Refused {
        ask: Ask,
        refusal: Error,
        sealed: bool,
        answer: Answer<T, E>,
    },
    /// The body failed while it read from a snapshot older than the lock: a competing attempt may
    /// have committed since.
    FailedInSnapshot {
        ask: Ask,
        error: E,
    },
    /// COMMIT was sent and its answer was lost. `answer` is right if the COMMIT was executed.
    Ambiguous {
        ask: Option<Ask>,
        lost: sqlx::Error,
        answer: Answer<T, E>,
    },
}

/// Ends a claim whose body returned `Ok`.
pub(super) async fn succeeded<DB: Backend, T, E>(
    mut claim: Claim<'_, DB>,
    value: T,
    contract: &Contract<T, E>,
) -> Ending<T, E> {
    if !is_innermost(&mut claim).await {
        return undo(claim, Answer::Refused(Error::TransactionEnded)).await;
    }
    if claim.held.is_none() {
        if let Err(refusal) = DB::prove(&mut claim.tx).await {
            return undo(claim, Answer::Refused(refusal)).await;
        }
        let Claim { tx, state, own, .. } = claim;
        return commit(tx, state, own, None, Answer::Unkeyed(value)).await;
    }
    match contract.encode(&claim.sheet.name, &value) {
        Ok((bytes, value)) => {
            record(claim, Status::Completed, &bytes, Answer::Executed(value)).await
        }
        Err(refusal) => undo(claim, Answer::Refused(refusal)).await,
    }
}

/// Ends a claim whose body returned `Err`.
pub(super) async fn failed<DB: Backend, T, E>(
    mut claim: Claim<'_, DB>,
    error: E,
    contract: &Contract<T, E>,
) -> Ending<T, E> {
    // Transactions that the body left open are rolled back with it.
    is_innermost(&mut claim).await;
    let name = &claim.sheet.name;
    let held = claim.held.as_ref();
    match held.and_then(|_| contract.encode_failure(name, &error)) {
        Some(Ok((bytes, error))) => {
            let answer = Answer::FailureRecorded(error);
            return record(claim, Status::Failed, &bytes, answer).await;
        }
        Some(Err(refusal)) => return undo(claim, Answer::Refused(refusal)).await,
        None => {}
    }
    let ended = match &claim.held {
        Some(held) => DB::has_ended(&mut claim.tx, held).await,
        None => Ok(false),
    };
    claim.state.out_of_step |= ended.is_err();
    roll_back(claim.tx, claim.state).await;
    if let Ok(true) = ended {
        return Ending::Answered(Answer::Refused(Error::TransactionEnded));
    }
    match claim.held {
        Some(held) if claim.own && held.snapshot => Ending::FailedInSnapshot {
            ask: held.ask,
            error,
        },
        _ => Ending::Answered(Answer::Failed(error)),
    }
}

async fn undo<DB: Backend, T, E>(claim: Claim<'_, DB>, answer: Answer<T, E>) -> Ending<T, E> {
    claim.state.out_of_step |= matches!(answer, Answer::Refused(Error::StatementUnfinished(_)));
    roll_back(claim.tx, claim.state).await;
    Ending::Answered(answer)
}

/// Rolls back the nested transactions that the body began and never ended (for example by
/// `mem::forget`; dropped ones are rolled back). Returns whether the body's own transaction was the
/// innermost all along. If it was not, a COMMIT would end a different level: it would release a
/// savepoint and report success.
async fn is_innermost<DB: Backend>(claim: &mut Claim<'_, DB>) -> bool {
    let mut innermost = true;
    while depth::<DB>(&claim.tx) > claim.depth {
        innermost = false;
        if !DB::reopen(&mut claim.tx).await {
            claim.state.out_of_step = true;
            break;
        }
        if DB::TransactionManager::rollback(&mut claim.tx)
            .await
            .is_err()
        {
            // The driver still counts this level: no further level can be ended.
            break;
        }
    }
    innermost && depth::<DB>(&claim.tx) == claim.depth
}

/// Rolls back the writes of a body. Returns whether the rollback succeeded.
async fn roll_back<DB: Backend>(mut tx: Transaction<'_, DB>, state: &mut State) -> bool {
    state.unproven = true;
    if state.out_of_step || !DB::reopen(&mut tx).await {
        state.out_of_step = true;
        return false;
    }
    claim::roll_back(tx, state).await
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
        held: Some(held),
        replaces,
        attempt,
        sheet,
        ..
    } = claim
    else {
        return Ending::Answered(answer);
    };
    let failed = status == Status::Failed;
    let retention = sheet.operation.policy().retention.as_micros();
    let entry = Entry {
        status,
        operation: &sheet.name,
        fingerprint: sheet.fingerprint,
        request: sheet.request.as_deref(),
        result: (!failed).then_some(payload),
        failure: failed.then_some(payload),
        retention: i64::try_from(retention).unwrap_or(i64::MAX),
        replaces,
        attempt,
    };
    let sealed = if own {
        DB::seal(tx, &held, &entry, failed).await
    } else {
        match store::write(&mut *tx, &held, &entry, failed).await {
            Ok(Written::Done) => return commit(tx, state, own, Some(held.ask), answer).await,
            Ok(Written::Rival) => Sealed::Rival(tx),
            Err(error) => Sealed::Refused(tx, error),
        }
    };
    state.out_of_step |= matches!(sealed, Sealed::Refused(_, Error::StatementUnfinished(_)));
    match sealed {
        Sealed::Committed => {
            state.armed = false;
            Ending::Answered(answer)
        }
        Sealed::Rival(tx) => {
            roll_back(tx, state).await;
            Ending::Rival {
                snapshot: held.snapshot,
                ask: held.ask,
                refusal: None,
            }
        }
        Sealed::Refused(tx, refusal) if DB::may_be_rivals(&refusal) => {
            roll_back(tx, state).await;
            Ending::Rival {
                snapshot: held.snapshot,
                ask: held.ask,
                refusal: Some(refusal),
            }
        }
        Sealed::Refused(tx, refusal) => {
            let rolled_back = roll_back(tx, state).await;
            let refusal = match refusal {
                // The savepoint no longer exists, because the body ended the caller's transaction.
                Error::TableMoved { .. } if !own && !rolled_back => Error::TransactionEnded,
                refusal => refusal,
            };
            Ending::Refused {
                sealed: own && held.fused,
                ask: held.ask,
                refusal,
                answer,
            }
        }
        Sealed::Failed(error) => not_committed(error, Some(held.ask), answer),
    }
}

/// Sends COMMIT of the library's own transaction, or RELEASE SAVEPOINT in the caller's.
async fn commit<DB: Backend, T, E>(
    mut tx: Transaction<'_, DB>,
    state: &mut State,
    own: bool,
    ask: Option<Ask>,
    answer: Answer<T, E>,
) -> Ending<T, E> {
    let committed = if own {
        match DB::end(&mut tx).await {
            Err(CommitError::RolledBack(refusal)) => {
                roll_back(tx, state).await;
                return Ending::Answered(Answer::Refused(refusal));
            }
            ended => ended,
        }
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
        Err(error) => not_committed(error, ask, answer),
    }
}

fn not_committed<T, E>(error: CommitError, ask: Option<Ask>, answer: Answer<T, E>) -> Ending<T, E> {
    match error {
        CommitError::RolledBack(error) => Ending::Answered(Answer::Refused(error)),
        CommitError::Ambiguous(lost) => Ending::Ambiguous { ask, lost, answer },
    }
}
