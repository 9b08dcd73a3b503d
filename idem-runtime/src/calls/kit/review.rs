//! A replay that is shown to a function of the user's before it is answered: `authorize`, `on_replay`.
//!
//! The call's event waits for that function's answer. If the function refuses, its error is the answer, and the event
//! says `denied`: nothing of the record is in either.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::answer::Answer;
use super::contract::Contract;
use super::decoded_answer::Withheld;
use super::request::Request;
use crate::values::record::Timestamp;
use crate::values::replay::{self, Replayable};

/// The outcome of a call whose replay was refused by a function of the user's.
pub(crate) const DENIED: &str = "denied";

/// Converts the answer to the handler's own `Result`. The event of a replay waits in the request if it is reviewed;
/// that of any other answer is emitted.
pub(crate) fn answered<T, E>(
    request: &mut Request,
    answer: Answer<T, E>,
    contract: &Contract<T, E>,
) -> Result<Replayable<T>, E> {
    let answer = answer.naming_key_of(request).decode(contract);
    match answer.record() {
        Some(record) if request.is_reviewed() => {
            let withheld = Withheld {
                outcome: answer.outcome(),
                record: Box::new(record.clone()),
            };
            request.withhold(withheld);
        }
        record => request.emit(answer.outcome(), record, answer.refusal()),
    }
    answer.into_result(contract)
}

/// Returns whether the call has a replay that waits for its review.
pub fn is_replay(request: &Request) -> bool {
    request.withholds()
}

/// Returns the recorded result or failure.
///
/// # Errors
/// The failure, if that is what was recorded.
pub fn recorded<T, E>(done: &Result<Replayable<T>, E>) -> Result<&T, &E> {
    done.as_ref().map(|replayed| &**replayed)
}

/// Returns the refusal in place of the replay.
///
/// # Errors
/// Always `error`.
pub fn denied<T, E>(mut request: Request, error: E) -> Result<Replayable<T>, E> {
    request.take_withheld();
    request.emit(DENIED, None, None);
    replay::failed(None);
    Err(error)
}

/// Returns the replay.
///
/// # Errors
/// The recorded failure, if that is the replay.
pub fn approved<T, E>(
    mut request: Request,
    done: Result<Replayable<T>, E>,
) -> Result<Replayable<T>, E> {
    if let Some(Withheld { outcome, record }) = request.take_withheld() {
        request.emit(outcome, Some(&record), None);
        if done.is_err() {
            replay::failed(Some(record.created_at));
        }
    }
    done
}

/// When a replayed result was recorded.
#[derive(Clone, Copy)]
pub struct RecordedAt(Option<Timestamp>);

/// Takes a replayed result apart, so that it can be edited.
pub fn apart<T>(replayed: Replayable<T>) -> (T, RecordedAt) {
    let recorded_at = RecordedAt(replayed.recorded_at());
    (replayed.into_inner(), recorded_at)
}

/// Makes the edited result the replay.
pub fn together<T>(value: T, recorded_at: RecordedAt) -> Replayable<T> {
    Replayable::recorded(value, recorded_at.0)
}

/// What the body of a leased handler begins with.
pub enum Entered<A, T, E> {
    /// It runs, as this attempt.
    Attempt(A),
    /// It does not run. Its parameters are there to review a replay.
    Review(Review<T, E>),
}

/// A replay of a leased call under review.
pub struct Review<T, E> {
    result: Result<T, E>,
    denial: Denial,
}

/// Says that a replay was refused.
#[derive(Clone, Default)]
pub struct Denial(Arc<AtomicBool>);

impl<T, E> Review<T, E> {
    pub(crate) fn new(result: Result<T, E>) -> (Self, Denial) {
        let denial = Denial::default();
        let review = Self {
            result,
            denial: denial.clone(),
        };
        (review, denial)
    }

    /// Returns the recorded result or failure.
    ///
    /// # Errors
    /// The failure, if that is what was recorded.
    pub fn recorded(&self) -> Result<&T, &E> {
        self.result.as_ref()
    }

    /// Returns the refusal in place of the replay.
    ///
    /// # Errors
    /// Always `error`.
    pub fn denied(self, error: E) -> Result<T, E> {
        self.denial.deny(error)
    }

    /// Returns the replay.
    ///
    /// # Errors
    /// The recorded failure, if that is the replay.
    pub fn approved(self) -> Result<T, E> {
        self.result
    }

    /// Takes the review apart, so that the result can be edited.
    pub fn apart(self) -> (Result<T, E>, Denial) {
        (self.result, self.denial)
    }
}

impl Denial {
    /// Returns the refusal in place of the replay.
    ///
    /// # Errors
    /// Always `error`.
    pub fn deny<T, E>(self, error: E) -> Result<T, E> {
        self.0.store(true, Ordering::Relaxed);
        Err(error)
    }

    pub(crate) fn is_denied(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
