//! The countable costs of a call: round trips, bytes of WAL, row versions. `cargo xtask bench`
//! measures times.

mod till;

use std::time::Duration;

use idem_runtime::Error;
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::postgres::fresh_key;
use idem_tests::postgres::payments::{Pay, PayError, fail_to_pay, pay};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};

use self::till::{CALLS, CMD, Till};

/// The two paths of the library (fused and plain), each with its round trips beyond those of the
/// body: of a first run, and of a replay of a key that this process has not seen.
const PATHS: [(&str, u64, u64); 2] = [("on", 0, 0), ("off", 2, 2)];

/// Returns the end position of the server's WAL.
async fn wal(observer: &mut PgConnection) -> u64 {
    let end: i64 = sqlx::query_scalar("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
        .fetch_one(observer)
        .await
        .expect("the server answers");
    end.unsigned_abs()
}

#[tokio::test]
async fn a_fresh_run_takes_no_round_trip_more_than_the_same_work_alone_and_unfused_two() {
    for (fused, more, _) in PATHS {
        let till = Till::open(fused).await;
        let plain = till.round_trips(async || till.plain().await).await;
        let run = till.round_trips(async || till.run().await).await;
        assert_eq!(run, plain + more, "fused: {fused}");
    }
}

/// `docs/sqlx-hooks.md` says why it is not fewer.
#[tokio::test]
async fn a_call_in_the_callers_transaction_takes_four_round_trips_more_and_a_replay_three() {
    for (fused, ..) in PATHS {
        let till = Till::open(fused).await;
        let plain = till.round_trips(async || till.plain().await).await;
        let joined = till
            .round_trips(async || {
                let mut tx = till.pool.begin().await.expect("it begins");
                let paid = pay(&mut tx, &fresh_key(), &CMD).await.expect("it pays");
                assert!(!paid.replayed());
                tx.commit().await.expect("it commits");
            })
            .await;
        assert_eq!(joined, plain + 4, "fused: {fused}");
        let key = till.recorded().await;
        let replay = till
            .round_trips(async || {
                let mut tx = till.pool.begin().await.expect("it begins");
                let paid = pay(&mut tx, &key, &CMD).await.expect("it is recorded");
                assert!(paid.replayed());
                tx.commit().await.expect("it commits");
            })
            .await;
        // Instead of the payment: savepoint, look-up, rollback to the savepoint.
        assert_eq!(replay, plain - 1 + 3, "fused: {fused}");
    }
}

/// Replays, mismatches and recorded failures of keys that the pool has replayed before, or that are new to it.
async fn assert_answered_within(till: &Till, are_known: bool, round_trips: u64) {
    let (known, known_failed) = (till.recorded().await, till.failed().await);
    // The calls that record a key go by another pool, and are not counted.
    let recorded = async || {
        if are_known {
            known.clone()
        } else {
            till.recorded().await
        }
    };
    let replay = async || till.replay(&recorded().await).await;
    assert_eq!(till.round_trips(replay).await, round_trips);
    let mismatch = async || {
        let refusal = till.is_refused(&recorded().await, &Pay { amount: 2 }).await;
        assert!(matches!(refusal, Error::Mismatch(_)), "{refusal:?}");
    };
    assert_eq!(till.round_trips(mismatch).await, round_trips);
    let failure = async || {
        if are_known {
            till.fails_again(&known_failed).await;
        } else {
            till.fails_again(&till.failed().await).await;
        }
    };
    assert_eq!(till.round_trips(failure).await, round_trips);
}

#[tokio::test]
async fn a_retry_of_a_key_that_the_process_has_seen_takes_the_round_trips_of_one_select() {
    for (fused, ..) in PATHS {
        let till = Till::open(fused).await;
        let select = till.round_trips(async || till.look().await).await;
        assert_answered_within(&till, true, select).await;
    }
}

#[tokio::test]
async fn a_retry_of_any_other_key_takes_the_round_trips_of_one_select_and_unfused_two_more() {
    for (fused, _, more) in PATHS {
        // Nobody waits for the answer to the last ROLLBACK. It is no round trip if it is under way while the pool
        // sends its ping.
        let till = Till::open_over(fused, Duration::from_millis(60)).await;
        let select = till.round_trips(async || till.look().await).await;
        assert_answered_within(&till, false, select + more).await;
    }
}

#[tokio::test]
async fn a_retry_on_a_connection_that_has_prepared_nothing_takes_the_round_trips_of_one_select() {
    for (fused, ..) in PATHS {
        let mut till = Till::open(fused).await;
        let select = till.round_trips(async || till.look().await).await;
        let key = till.recorded().await;
        till.replay(&key).await;
        let options = PgConnectOptions::clone(&till.pool.connect_options());
        till.pool = till.shop.pool_by(1, options);
        drop(till.pool.acquire().await.expect("a connection"));
        till.settled().await;
        let before = till.wire.round_trips();
        till.replay(&key).await;
        till.settled().await;
        assert_eq!(till.wire.round_trips() - before, select, "fused: {fused}");
    }
}

/// A connection that only replays prepares the look-up in the end: the text costs the server more at each replay than
/// the statement does.
#[tokio::test]
async fn retries_alone_prepare_the_look_up_before_long() {
    let mut till = Till::open("on").await;
    let key = till.recorded().await;
    till.replay(&key).await;
    let options = PgConnectOptions::clone(&till.pool.connect_options());
    till.pool = till.shop.pool_by(1, options);
    for _ in 0..140 {
        till.replay(&key).await;
    }
    let connection = till.pool.acquire().await.expect("a connection");
    assert_eq!(connection.cached_statements_size(), 1);
}

#[tokio::test]
async fn a_key_that_the_process_has_seen_and_that_has_no_record_takes_one_round_trip_more() {
    for (fused, more, _) in PATHS {
        let till = Till::open(fused).await;
        let plain = till.round_trips(async || till.plain().await).await;
        let key = till.recorded().await;
        till.replay(&key).await;
        // The connection knows the statements of a first run.
        till.run().await;
        let run = till
            .round_trips(async || {
                till.shop.run("DELETE FROM idem_record").await;
                let paid = pay(&till.pool, &key, &CMD).await.expect("it pays");
                assert!(!paid.replayed());
            })
            .await;
        assert_eq!(run, plain + more + 1, "fused: {fused}");
    }
}

/// The function is called where there is a record. A connection that has prepared its call notices its loss in a
/// first run, and then goes on without it.
#[tokio::test]
async fn a_first_run_takes_no_round_trip_more_without_the_function_or_after_its_loss() {
    let drop = "DROP FUNCTION idem_record_found";
    let revoke = "REVOKE EXECUTE ON FUNCTION idem_record_found FROM PUBLIC";
    for loss in [drop, revoke] {
        let till = Till::open("on").await;
        till.shop
            .run(
                "GRANT ALL ON payment, idem_record, payment_id_seq TO pg_monitor; \
                 ALTER ROLE postgres SET role = pg_monitor",
            )
            .await;
        let plain = till.round_trips(async || till.plain().await).await;
        let run = till.round_trips(async || till.run().await).await;
        assert_eq!(run, plain);
        till.shop.run(&format!("SET ROLE NONE; {loss}")).await;
        let run = till.round_trips(async || till.run().await).await;
        assert_eq!(run, plain, "{loss}");
        let key = till.recorded().await;
        till.replay(&key).await;
    }
}

#[tokio::test]
async fn a_call_in_flight_is_refused_while_the_body_is_held_and_as_cheaply_as_a_replay() {
    for (fused, ..) in PATHS {
        let till = Till::open(fused).await;
        let recorded = till.recorded().await;
        let select = till.round_trips(async || till.look().await).await;
        let key = fresh_key();
        let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
        let (pool, held) = (till.shop.pool.clone(), key.clone());
        let running = tokio::spawn(async move { pay(&pool, &held, &CMD).await });
        gate.entered().await;
        let replay = till
            .round_trips(async || till.replay(&recorded).await)
            .await;
        let refused = till
            .round_trips(async || {
                let refusal = till.is_refused(&key, &CMD).await;
                assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
            })
            .await;
        assert_eq!((refused, replay), (select, select), "fused: {fused}");
        gate.open();
        let paid = running.await.expect("no panic").expect("it pays");
        assert!(!paid.replayed());
    }
}

#[tokio::test]
async fn a_replay_and_a_refusal_write_no_wal() {
    for (fused, ..) in PATHS {
        let till = Till::open(fused).await;
        let key = till.recorded().await;
        let observer = tokio::sync::Mutex::new(till.shop.database.connect().await);
        let gauge = async || wal(&mut *observer.lock().await).await;
        let replay = till.each(gauge, async || till.replay(&key).await).await;
        assert_eq!(replay, 0);
        let other = Pay { amount: 2 };
        let mismatch = till
            .each(gauge, async || {
                till.is_refused(&key, &other).await;
            })
            .await;
        assert_eq!(mismatch, 0);
        // The gauge counts.
        let before = gauge().await;
        till.run().await;
        assert!(gauge().await > before);
    }
}

#[tokio::test]
async fn a_record_without_its_request_adds_at_most_550_bytes_of_wal() {
    for (fused, ..) in PATHS {
        let till = Till::open(fused).await;
        let mut observer = till.shop.database.connect().await;
        let mut written = Vec::new();
        for is_plain in [true, false, true, false] {
            let before = wal(&mut observer).await;
            for _ in 0..CALLS {
                if is_plain {
                    till.plain().await;
                } else {
                    till.run().await;
                }
            }
            written.push(wal(&mut observer).await - before);
        }
        // The first two calls warm up: the sequence and the tables allocate their first pages.
        let (plain, run) = (written[2], written[3]);
        assert!(run > plain, "the record is written: {written:?}");
        assert!(run <= plain + 550 * CALLS, "{written:?}");
    }
}

#[tokio::test]
async fn a_record_is_inserted_once_and_never_updated_and_no_call_leaves_a_dead_one() {
    for (fused, ..) in PATHS {
        let till = Till::open(fused).await;
        let key = till.recorded().await;
        for _ in 0..CALLS {
            till.run().await;
            till.replay(&key).await;
            till.is_refused(&key, &Pay { amount: 2 }).await;
            let declined = fail_to_pay(&till.pool, &fresh_key(), &CMD, Some(51)).await;
            assert!(matches!(declined, Err(PayError::Declined { .. })));
            let failed = fail_to_pay(&till.pool, &fresh_key(), &CMD, None).await;
            assert!(matches!(failed, Err(PayError::BankDown)));
        }
        // A session reports its statistics at the latest when it ends.
        till.pool.close().await;
        till.shop.pool.close().await;
        let inserted = 1 + 2 * CALLS;
        let mut observer = till.shop.observer().await;
        let counts = "FROM pg_stat_user_tables WHERE relname = 'idem_record'";
        observer
            .until(&format!("(SELECT n_tup_ins = {inserted} {counts})"))
            .await;
        let mut connection = till.shop.database.connect().await;
        let (updated, deleted, dead): (i64, i64, i64) = sqlx::query_as(sqlx::AssertSqlSafe(
            format!("SELECT n_tup_upd, n_tup_del, n_dead_tup {counts}"),
        ))
        .fetch_one(&mut connection)
        .await
        .expect("the server answers");
        connection.close().await.expect("the server answers");
        assert_eq!((updated, deleted, dead), (0, 0, 0));
    }
}
