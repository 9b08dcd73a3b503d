//! Measures calls that end without waiting.

use std::task::{Context, Poll, Waker};

use idem_tests_counting::{Ledger, Stretch};

use crate::Outcome;
use crate::shop::{Outcomes, next_is};
use crate::stretch::{Calls, WARMING};

/// Calls that let buffers, pools and caches grow.
const WARMING_CALLS: u32 = 4;

/// Which answer a caller gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// A result without a mark.
    Result,
    /// A result that is marked as a replay.
    Replay,
    Refusal,
}

/// Measures the four calls of a transport.
///
/// `bare` and `edge` make a call that has not begun; the request and the service are then made already. `kind_of` reads an
/// answer, after the measurement.
pub(crate) fn measure<A, B: Future<Output = A>, E: Future<Output = A>>(
    ledger: &mut Ledger,
    outcomes: &Outcomes,
    calls: &Calls,
    bare: impl Fn() -> B,
    edge: impl Fn() -> E,
    kind_of: impl Fn(A) -> AnswerKind,
) -> Outcome {
    let expect = |answer: A, expected: AnswerKind| -> Outcome {
        let kind = kind_of(answer);
        let fault = || format!("the answer is {kind:?}, not as {expected:?}").into();
        (kind == expected).then_some(()).ok_or_else(fault)
    };
    warm(&mut |ledger, stretch| expect(at_once(ledger, stretch, bare())?, AnswerKind::Result))?;
    expect(at_once(ledger, calls.bare, bare())?, AnswerKind::Result)?;
    for (stretch, outcome, expected) in [
        (calls.first, &outcomes.first, AnswerKind::Result),
        (calls.replay, &outcomes.replay, AnswerKind::Replay),
        (calls.refusal, &outcomes.mismatch, AnswerKind::Refusal),
    ] {
        let mut call = |ledger: &mut Ledger, stretch| {
            next_is(outcome);
            expect(at_once(ledger, stretch, edge())?, expected)
        };
        warm(&mut call)?;
        call(ledger, stretch)?;
    }
    Ok(())
}

fn warm(call: &mut dyn FnMut(&mut Ledger, Stretch) -> Outcome) -> Outcome {
    (0..WARMING_CALLS).try_for_each(|_| call(&mut Ledger::default(), WARMING))
}

/// Polls a call once, inside a stretch, from its beginning to its answer.
fn at_once<F: Future>(ledger: &mut Ledger, stretch: Stretch, call: F) -> Outcome<F::Output> {
    let mut call = Box::pin(call);
    let mut polled = Poll::Pending;
    ledger.enter(stretch, &mut || {
        polled = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    });
    match polled {
        Poll::Ready(answer) => Ok(answer),
        Poll::Pending => Err("a call waits, so one poll is not all of it".into()),
    }
}
