//! A limit on the leased runs of a process. These tests have their own binary, because the limit
//! applies to the whole process.

use std::time::Duration;

use idem_runtime::lease::{drain, set_max_concurrent};
use idem_runtime::policy::OnLapse;
use idem_runtime::{Error, IdempotencyKey, LeasedOperation, Operation, schema};
use idem_tests::patience::in_time;
use idem_tests::sqlite::{Journal, Sqlite};
use tokio::sync::{Semaphore, mpsc};

const NOTE: LeasedOperation =
    Operation::new("mail", "note").lease(Duration::from_mins(5), OnLapse::Retry);

#[tokio::test(flavor = "multi_thread")]
async fn runs_whose_callers_have_gone_count_and_a_call_over_the_limit_claims_nothing() {
    static GATE: Semaphore = Semaphore::const_new(0);
    let database = Sqlite::fresh(Journal::Wal);
    let mut conn = database.connect().await;
    schema::create_if_missing(&mut conn).await.expect("made");
    let pool = database.pool(4);
    let key = |text: &str| text.parse::<IdempotencyKey>().expect("a key").global();
    let (reached, mut arrivals) = mpsc::unbounded_channel();
    let call = async |text: &str| {
        let reached = reached.clone();
        NOTE.run(&pool, &key(text), &1, move |_| async move {
            reached.send(()).expect("it listens");
            let _pass = GATE.acquire().await.expect("it is never closed");
            Ok::<_, Error>(1)
        })
        .await
    };
    set_max_concurrent(2);
    for gone in ["a", "b"] {
        let waits = Box::pin(call(gone));
        let began = Box::pin(arrivals.recv());
        // The dropped call no longer waits; the run continues.
        drop(in_time("no body starts", until(waits, began)).await);
    }
    let refused = call("c").await.expect_err("two are under way");
    assert!(
        matches!(refused, Error::TooManyRuns { limit: 2, .. }),
        "{refused:?}"
    );
    assert!(refused.is_retryable() && refused.retry_after().is_some());
    assert_eq!(refused.status(), 503);
    let records: i64 = sqlx::query_scalar("SELECT count(*) FROM idem_record")
        .fetch_one(&mut conn)
        .await
        .expect("it can be read");
    assert_eq!(records, 2);
    GATE.add_permits(2);
    in_time("the runs do not end", drain()).await;
    assert_eq!(*call("c").await.expect("there is room"), 1);
}

/// Waits for the second of two futures, and polls the first meanwhile.
async fn until<A: Future + Unpin, B: Future + Unpin>(mut a: A, mut b: B) -> A {
    std::future::poll_fn(|context| {
        assert!(std::pin::Pin::new(&mut a).poll(context).is_pending());
        std::pin::Pin::new(&mut b).poll(context).map(drop)
    })
    .await;
    a
}
