//! Bodies that fail, and a database that is away.

use idem_messaging::inbox::{DeadLetterReason, Delivery, PermanentFailures, Policy, Verdict};

use crate::service::{ASKED, Service, TABLES, Then};
use crate::source::{message, verdict};

const ATTEMPTS: u32 = Policy::DEFAULT.attempts().get();

pub(crate) async fn errors_of_the_body_leave_nothing_and_are_dead_letters_after_the_last_attempt<
    D: Service,
>() {
    let db = D::fresh(TABLES).await;
    let consumer = D::notifier(&db);
    let mut delivery = Delivery::new(message("8e03978e", 17, Some(Then::Fail)));
    for used in 1..ATTEMPTS {
        match verdict(&consumer, &delivery).await {
            Verdict::Retry { attempts, .. } => assert_eq!(attempts, used),
            other => panic!("{other:?}"),
        }
        delivery = delivery.with_attempts(used);
    }
    let last = verdict(&consumer, &delivery).await;
    let detail = format!("attempt {ATTEMPTS} of {ATTEMPTS}: the printer is out of paper");
    let reason = DeadLetterReason::AttemptsUsedUp;
    assert_eq!(last, Verdict::DeadLetter { reason, detail });
    assert_eq!(D::counts(&db).await, (0, 0, 0));
}

pub(crate) async fn a_retry_that_the_body_asks_for_leaves_no_record<D: Service>() {
    let db = D::fresh(TABLES).await;
    let delivery = Delivery::new(message("8e03978e", 17, Some(Then::AskForRetry)));
    let answer = verdict(&D::notifier(&db), &delivery).await;
    let (after, attempts) = (ASKED, 1);
    assert_eq!(answer, Verdict::Retry { after, attempts });
    assert_eq!(D::counts(&db).await, (0, 0, 0));
}

pub(crate) async fn a_panic_is_an_error_of_the_body<D: Service>() {
    let db = D::fresh(TABLES).await;
    let delivery = Delivery::new(message("8e03978e", 17, Some(Then::Panic)));
    let consumer = D::notifier(&db);
    let first = verdict(&consumer, &delivery).await;
    assert!(
        matches!(first, Verdict::Retry { attempts: 1, .. }),
        "{first:?}"
    );
    match verdict(&consumer, &delivery.with_attempts(ATTEMPTS - 1)).await {
        Verdict::DeadLetter { detail, .. } => {
            assert!(detail.ends_with("the handler panicked: the body panics on purpose"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(D::counts(&db).await, (0, 0, 0));
}

pub(crate) async fn a_recorded_failure_is_acknowledged_by_choice_and_replayed<D: Service>() {
    let db = D::fresh(TABLES).await;
    let delivery = Delivery::new(message("8e03978e", 17, Some(Then::Reject)));
    let by_default = verdict(&D::recorder(&db), &delivery).await;
    assert!(
        matches!(
            by_default,
            Verdict::DeadLetter {
                reason: DeadLetterReason::PermanentFailure,
                ..
            }
        ),
        "{by_default:?}"
    );
    let policy = Policy::DEFAULT.with_permanent_failures(PermanentFailures::Ack);
    let chosen = D::recorder(&db).with_policy(policy.clone());
    let replayed = verdict(&chosen.expect("it records failures"), &delivery).await;
    assert_eq!(replayed, Verdict::Ack);
    assert_eq!(D::counts(&db).await, (0, 0, 1));
    let refused = D::notifier(&db).with_policy(policy).map(|_| ());
    assert!(refused.is_err(), "nothing of the failure would remain");
}

pub(crate) async fn a_database_that_is_away_pauses_and_uses_up_no_attempt<D: Service>() {
    let db = D::fresh(TABLES).await;
    let consumer = D::notifier(&db);
    db.pool.close().await;
    let delivery = Delivery::new(message("8e03978e", 17, None)).with_attempts(ATTEMPTS - 1);
    for _ in 0..3 * ATTEMPTS {
        let answer = consumer.handle(&delivery).await;
        assert!(matches!(answer, Verdict::Pause { .. }), "{answer:?}");
    }
}
