//! Leases without the advisory lock: the constraint and the compare-and-swap decide.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::{Error, ErrorKind, LeasedOperation, Operation};
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::postgres::fresh_key;
use idem_tests::postgres::payments::{Pay, pay};
use tokio::task::JoinSet;

const LEASED: LeasedOperation =
    Operation::new("payments", "leased").lease(Duration::from_mins(5), OnLapse::Retry);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_eight_competitors_for_a_lease_fresh_lapsed_or_released_one_has_it() {
    let shop = crate::shop(8).await;
    for _ in 0..10 {
        let key = fresh_key();
        let bodies = Arc::new(AtomicUsize::new(0));
        for round in 1..=3 {
            let mut all = JoinSet::new();
            for _ in 0..8 {
                let (pool, key, bodies) = (shop.pool.clone(), key.clone(), Arc::clone(&bodies));
                all.spawn(async move {
                    LEASED
                        .run(&pool, &key, &1, move |_| async move {
                            bodies.fetch_add(1, Ordering::SeqCst);
                            // The lease is not ended: the key stays in progress.
                            std::future::pending::<Result<i32, Error>>().await
                        })
                        .await
                });
            }
            // All callers except the owner are refused.
            for _ in 0..7 {
                let refused = all.join_next().await.expect("eight").expect("no panic");
                assert!(
                    matches!(refused, Err(Error::InFlight { .. })),
                    "{refused:?}"
                );
            }
            all.abort_all();
            assert_eq!(bodies.load(Ordering::SeqCst), round);
            let free = if round == 1 {
                "UPDATE idem_record SET locked_until = clock_timestamp() WHERE status = 3"
            } else {
                "UPDATE idem_record SET status = 5, locked_until = NULL WHERE status = 3"
            };
            shop.run(free).await;
        }
    }
}

#[tokio::test]
async fn an_atomic_attempt_that_a_lease_overtook_is_rolled_back() {
    let shop = crate::shop(4).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let overtake = async {
        gate.entered().await;
        let done = LEASED
            .run(&shop.pool, &key, &1, |attempt| async move {
                Ok::<_, Error>(attempt.number())
            })
            .await;
        assert_eq!(*done.expect("nobody has the key yet"), 1);
        gate.open();
    };
    let cmd = Pay { amount: 1 };
    let (paid, ()) = tokio::join!(pay(&shop.pool, &key, &cmd), overtake);
    let refusal = paid.expect_err("the key is another operation's").refusal();
    assert_eq!(refusal.kind(), ErrorKind::Mismatch);
    assert_eq!(shop.effects(&key).await, (0, 1));
}
