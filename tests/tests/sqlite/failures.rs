//! Failures under `failures = "record"`.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use idem_runtime::policy::RecordFailures;
use idem_runtime::{Error, IdempotencyKey, Operation, ReplayExt as _, idempotent};
use sqlx::Executor as _;
use sqlx::sqlite::SqliteTransaction;

use crate::payments::{Books, JOURNALS, Paid, PayError, insert, key, pay, refused};

/// A bank that answers each charge as configured, and counts the charges.
struct Bank {
    asked: AtomicU32,
    answer: fn() -> Result<(), PayError>,
}

impl Bank {
    fn that(answer: fn() -> Result<(), PayError>) -> Self {
        Self {
            asked: AtomicU32::new(0),
            answer,
        }
    }

    fn asked(&self) -> u32 {
        self.asked.load(SeqCst)
    }
}

#[idempotent(
    namespace = "payments",
    operation = "pay",
    failures = "record",
    skip(bank)
)]
async fn charge(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
    bank: &Bank,
) -> Result<Paid, PayError> {
    let paid = insert(tx, key, cents).await?;
    bank.asked.fetch_add(1, SeqCst);
    (bank.answer)()?;
    Ok(paid)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permanent_failure_is_recorded_and_replayed_and_its_writes_are_undone() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        let (key, bank) = (key("a"), Bank::that(|| Err(PayError::Declined(7))));
        for _ in 0..3 {
            let declined = charge(&books.pool, &key, 5, &bank).await;
            assert!(matches!(declined, Err(PayError::Declined(7))));
        }
        assert_eq!(bank.asked(), 1);
        assert_eq!(books.count(&key).await, (0, 1));
        let changed = refused(charge(&books.pool, &key, 6, &bank).await);
        assert!(matches!(changed, Error::Mismatch(_)), "{changed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_failure_is_told_from_a_first_one() {
    let books = Books::open(JOURNALS[0], 1).await;
    let (key, bank) = (key("a"), Bank::that(|| Err(PayError::Declined(7))));
    for replayed in [false, true, true] {
        let declined = charge(&books.pool, &key, 5, &bank).replayable().await;
        let declined = declined.expect_err("declined");
        assert!(matches!(*declined, PayError::Declined(7)));
        assert_eq!(declined.replayed(), replayed);
        assert_eq!(declined.recorded_at().is_some(), replayed);
    }
    let changed = charge(&books.pool, &key, 6, &bank).replayable().await;
    assert!(!changed.expect_err("another request").replayed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transient_failure_is_not_recorded() {
    let books = Books::open(JOURNALS[0], 1).await;
    let (key, bank) = (key("a"), Bank::that(|| Err(PayError::OutOfReach)));
    for _ in 0..2 {
        let failed = charge(&books.pool, &key, 5, &bank).await;
        assert!(matches!(failed, Err(PayError::OutOfReach)));
        assert_eq!(books.count(&key).await, (0, 0));
    }
    assert_eq!(bank.asked(), 2);
    let bank = Bank::that(|| Ok(()));
    let paid = charge(&books.pool, &key, 5, &bank).await.expect("paid");
    assert!(!paid.replayed());
    assert_eq!(books.count(&key).await, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permanent_failure_in_the_callers_transaction_undoes_its_own_writes_only() {
    for journal in JOURNALS {
        let books = Books::open(journal, 1).await;
        let (before, key) = (key("before"), key("a"));
        let bank = Bank::that(|| Err(PayError::Declined(7)));
        let mut tx = books.pool.begin().await.expect("a transaction");
        insert(&mut tx, &before, 1).await.expect("written");
        for _ in 0..2 {
            let declined = charge(&mut tx, &key, 5, &bank).await;
            assert!(matches!(declined, Err(PayError::Declined(7))));
        }
        tx.commit().await.expect("committed");
        assert_eq!(bank.asked(), 1);
        assert_eq!(books.count(&before).await, (1, 0));
        assert_eq!(books.count(&key).await, (0, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_failure_reaches_an_operation_that_records_none_any_more() {
    let books = Books::open(JOURNALS[0], 1).await;
    let (key, bank) = (key("a"), Bank::that(|| Err(PayError::Declined(7))));
    charge(&books.pool, &key, 5, &bank)
        .await
        .expect_err("declined");
    // `pay` is the same operation after a deploy that has removed the option.
    let error = refused(pay(&books.pool, &key, 5).await);
    let Error::RecordedFailure(failure) = error else {
        panic!("{error:?}");
    };
    assert_eq!(failure.class, "Declined");
    assert_eq!(books.count(&key).await, (0, 1));
}

#[idempotent(namespace = "payments", failures = "record", skip(end))]
async fn end_and_fail(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    end: &'static str,
) -> Result<Paid, PayError> {
    insert(tx, key, 5).await?;
    tx.execute(end).await?;
    Err(PayError::Declined(7))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permanent_failure_of_a_body_that_ended_its_transaction_is_not_recorded() {
    for (end, effects) in [("COMMIT", 1), ("ROLLBACK", 0), ("COMMIT; BEGIN", 1)] {
        let books = Books::open(JOURNALS[0], 1).await;
        let key = key("a");
        let error = refused(end_and_fail(&books.pool, &key, end).await);
        assert!(matches!(error, Error::TransactionEnded), "{error:?}");
        assert_eq!(books.count(&key).await, (effects, 0), "{end}");
    }
}

#[tokio::test]
async fn a_permanent_failure_of_an_operation_without_the_attribute_is_recorded_and_replayed() {
    const PAY: Operation<RecordFailures> = Operation::new("payments", "pay").record_failures();
    let (books, key) = (Books::open(JOURNALS[0], 1).await, key("a"));
    for replayed in [false, true] {
        let call = PAY.run(&books.pool, &key, &5, async |tx| {
            insert(tx, &key, 5).await?;
            Err::<Paid, _>(PayError::Declined(7))
        });
        let declined = call.replayable().await.expect_err("declined");
        assert_eq!(declined.replayed(), replayed);
        assert!(matches!(&*declined, PayError::Declined(7)), "{declined:?}");
        assert_eq!(books.count(&key).await, (0, 1));
    }
}
