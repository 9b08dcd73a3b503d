//! Heartbeats without a run around them.

use super::*;

#[test]
fn a_jitter_is_a_tenth_at_most() {
    let time = Duration::from_secs(100);
    for factor in 0..=u8::MAX {
        let jittered = jittered_by(time, factor);
        assert!(jittered >= time * 9 / 10 && jittered <= time * 11 / 10);
    }
}

#[cfg(feature = "sqlite")]
mod asked_for {
    use std::future::{Future as _, poll_fn};
    use std::pin::pin;
    use std::task::Poll;

    use sqlx::SqlitePool;
    use sqlx::sqlite::SqlitePoolOptions;

    use super::*;
    use crate::decision::DecideInput;
    use crate::stores::lease::LeaseRequest;
    use crate::stores::{ClaimRequest, Session as _, leased};
    use crate::values::identity::Identity;
    use crate::values::key::{IdempotencyKey, Scope};
    use crate::values::policy::{Expiry, Lease, OnLapse};
    use crate::values::record::{RecordFormat, Timestamp};
    use crate::values::spec::OperationSpec;

    const LEASE: Duration = Duration::from_mins(5);

    /// A lease that is claimed, and the attempt that holds it.
    async fn active(pool: &SqlitePool) -> ActiveLease {
        let key = "k".parse::<IdempotencyKey>().expect("a key");
        let claim_request = ClaimRequest::<()>::new(
            "idem_record",
            Identity::of_operation("mail", Scope::GLOBAL, key),
        );
        let lease = Lease::new(LEASE, OnLapse::Retry).expect("a lease");
        let lease_request = LeaseRequest {
            input: DecideInput {
                namespace: "mail",
                operation: "send",
                request: None,
                fingerprint: None,
                expiry: Expiry::Replay,
                lease_holder: None,
                opener: None,
            },
            lease,
            takes_over: None,
            fingerprint: None,
            format: RecordFormat::CLEAR,
            request: None,
        };
        let mut conn = pool.acquire().await.expect("a connection");
        let claimed =
            leased::claim(&mut *conn, &claim_request.on_connection(), &lease_request).await;
        let Ok(leased::LeaseAnswer::Claimed {
            attempt: number, ..
        }) = claimed
        else {
            panic!("it is free: {claimed:?}");
        };
        let (heartbeat_requests, _) = mpsc::unbounded_channel();
        let until = Instant::now() + LEASE;
        let attempt = Attempt::new(
            (claim_request.identity.clone(), None),
            claim_request.attempt_id,
            number,
            until,
            heartbeat_requests,
        );
        ActiveLease {
            claim_request,
            lease,
            attempt,
            meter: Meter::of(&OperationSpec::new("mail", "send")),
        }
    }

    async fn ends(pool: &SqlitePool, active: &ActiveLease) -> Timestamp {
        let mut conn = pool.acquire().await.expect("a connection");
        let observed = conn
            .look_up(&active.claim_request.on_connection())
            .await
            .expect("it can be read");
        let record = observed.lookup.record.expect("there is one");
        record.locked_until.expect("a lease")
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_heartbeat_that_the_body_asks_for_while_anothers_is_under_way_is_given() {
        let pool = SqlitePoolOptions::new().max_connections(1);
        let pool = pool.connect("sqlite::memory:").await.expect("a database");
        let mut conn = pool.acquire().await.expect("a connection");
        let made = crate::stores::schema::create_if_missing(&mut *conn).await;
        made.expect("the table is made");
        drop(conn);
        let active = active(&pool).await;
        let heartbeats = Heartbeats::of(&pool).expect("a pool");
        heartbeats
            .leases()
            .insert(active.attempt.id(), active.clone());
        // Another run's statement is under way, which was sent before this body asks.
        let (sent, turn) = (
            Instant::now(),
            Arc::clone(&heartbeats.turn).lock_owned().await,
        );
        // SQLite's clock has milliseconds: the next end is to be another one in any case.
        sqlx::query("UPDATE idem_record SET locked_until = locked_until - 1000000")
            .execute(&pool)
            .await
            .expect("the database answers");
        let before = ends(&pool, &active).await;
        let asked = Instant::now();
        active.attempt.due(asked);
        let mut asking = pin!(take_turn(&heartbeats, &active, asked, true));
        let waits = poll_fn(|context| Poll::Ready(asking.as_mut().poll(context).is_pending()));
        assert!(waits.await, "another's turn is not over");
        // It has carried this lease along, and the next heartbeat is not due for long.
        active.attempt.live(sent, sent + LEASE, sent + LEASE / 3);
        drop(turn);
        asking.await.expect("the lease is this attempt's");
        let given = active.attempt.lease_state().given.expect("a heartbeat");
        assert!(given >= asked, "none was sent after the body asked");
        assert!(
            ends(&pool, &active).await > before,
            "the lease is as it was"
        );
    }
}
