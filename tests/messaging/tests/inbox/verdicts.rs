//! What a broker is told about each answer.

use std::num::NonZeroU32;
use std::time::Duration;

use idem_messaging::inbox::{
    Answer, AsAnswer as _, Backoff, DeadLetterReason, Policy, Tried, Verdict,
};
use idem_runtime::Error;

fn error(error: sqlx::Error) -> idem_runtime::error::DatabaseError {
    error.into()
}

fn verdict_of(answer: &Answer, attempts: u32) -> Verdict {
    let pauses = 0;
    Policy::DEFAULT.verdict(answer, Tried { attempts, pauses }, 1.0)
}

const LAST: u32 = Policy::DEFAULT.attempts().get() - 1;

#[test]
fn what_is_not_the_bodys_own_fault_uses_up_no_attempt_not_even_the_last() {
    let retry_after = Duration::from_secs(3);
    let lost = || error(sqlx::Error::PoolTimedOut);
    let errors = [
        Error::InFlight {
            retry_after,
            key: None,
        },
        Error::Unavailable(lost()),
        Error::ReadOnly(lost()),
        Error::Busy(lost()),
        Error::CommitUnknown(lost()),
        Error::LockTableFull(lost()),
        Error::StatementsLost(lost()),
        Error::TransactionLost(lost()),
        Error::FreshTransactionNeeded,
        Error::LeaseLost,
        Error::TooManyRuns {
            limit: 1,
            retry_after,
        },
    ];
    for error in errors {
        match verdict_of(&error.as_answer(), LAST) {
            Verdict::Retry { attempts, .. } => assert_eq!(attempts, LAST, "{error}"),
            Verdict::Pause { .. } => {}
            other => panic!("{error}: {other:?}"),
        }
    }
}

#[test]
fn a_store_that_serves_nobody_stops_the_consumer() {
    let lost = || error(sqlx::Error::PoolTimedOut);
    let errors = [
        Error::Unavailable(lost()),
        Error::ReadOnly(lost()),
        Error::Busy(lost()),
        Error::CommitUnknown(lost()),
    ];
    for error in errors {
        let verdict = verdict_of(&error.as_answer(), 0);
        assert!(
            matches!(verdict, Verdict::Pause { .. }),
            "{error}: {verdict:?}"
        );
    }
    for error in [sqlx::Error::PoolTimedOut, sqlx::Error::PoolClosed] {
        let verdict = verdict_of(&error.as_answer(), LAST);
        assert!(
            matches!(verdict, Verdict::Pause { .. }),
            "{error}: {verdict:?}"
        );
    }
}

#[test]
fn an_unknown_outcome_is_parked_under_its_own_reason() {
    let attempt_id = uuid::Uuid::from_u128(7);
    let unknown = Error::OutcomeUnknown {
        operation: "send".to_owned(),
        attempt_id,
        attempt: 1,
    };
    match verdict_of(&unknown.as_answer(), LAST) {
        Verdict::Park { attempt_id: id, .. } => assert_eq!(id, attempt_id),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_effect_in_doubt_uses_up_no_attempt() {
    let in_doubt = Answer::in_doubt("the mail service gave no answer");
    match verdict_of(&in_doubt, LAST) {
        // The next delivery is parked by the record.
        Verdict::Retry { attempts, .. } => assert_eq!(attempts, LAST),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_body_that_ended_its_transaction_is_never_run_again() {
    match verdict_of(&Error::TransactionEnded.as_answer(), 0) {
        Verdict::DeadLetter { reason, .. } => {
            assert_eq!(reason, DeadLetterReason::TransactionEnded);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_of_a_statement_of_the_bodys_use_up_attempts() {
    let failed = sqlx::Error::RowNotFound.as_answer();
    assert!(matches!(
        verdict_of(&failed, 0),
        Verdict::Retry { attempts: 1, .. }
    ));
    match verdict_of(&failed, LAST) {
        Verdict::DeadLetter { reason, .. } => assert_eq!(reason, DeadLetterReason::AttemptsUsedUp),
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_attempt_is_one_attempt() {
    let once = Policy::DEFAULT.with_attempts(NonZeroU32::MIN);
    let verdict = once.verdict(&Answer::failed("no"), Tried::default(), 0.5);
    assert!(matches!(verdict, Verdict::DeadLetter { .. }), "{verdict:?}");
}

#[test]
fn the_wait_is_drawn_from_zero_to_a_ceiling_that_doubles_up_to_its_limit() {
    let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
    let ceilings = [1, 2, 4, 8, 10, 10].map(Duration::from_secs);
    for (n, ceiling) in (0_u32..).zip(ceilings) {
        assert_eq!(backoff.wait(n, 1.0), ceiling);
        assert_eq!(backoff.wait(n, 0.25), ceiling / 4);
        assert_eq!(backoff.wait(n, 0.0), Duration::ZERO);
    }
    for odd in [f64::NAN, -1.0, 2.0, f64::INFINITY] {
        assert_eq!(backoff.wait(u32::MAX, odd), Duration::from_secs(10));
    }
}

#[test]
fn pauses_grow_by_their_own_count() {
    let away = Answer::unavailable("no connection");
    let after = |pauses| match Policy::DEFAULT.verdict(
        &away,
        Tried {
            attempts: 0,
            pauses,
        },
        1.0,
    ) {
        Verdict::Pause { after, .. } => after,
        other => panic!("{other:?}"),
    };
    assert_eq!(after(0), Duration::from_secs(1));
    assert_eq!(after(3), Duration::from_secs(8));
    assert_eq!(after(50), Duration::from_secs(30));
}
