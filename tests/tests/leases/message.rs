//! Claims, heartbeats and ends on PostgreSQL that are one message each: what becomes of the connection and of the
//! record.

use std::time::Duration;

use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::record::Status;
use idem_runtime::store::{Outcome, StoreLease};
use idem_runtime::{Error, IdempotencyKey};
use idem_tests::cut::{CUTS, MANY, cut};
use idem_tests::postgres::{Cluster, Database, Options};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, Row as _};

use crate::database::{LeaseDatabase as _, Postgres, mails};
use crate::desk::{Desk, Then, ada, fresh_key, send_again, send_once};

type Answer = Result<Outcome<StoreLease, Value, Value>, Error>;

async fn try_lease(conn: &mut PgConnection, key: &IdempotencyKey) -> Answer {
    let lease = Lease::new(Duration::from_mins(5), OnLapse::Unknown).expect("within bounds");
    let mails = mails();
    let mut bound = mails.in_connection(conn);
    bound.begin_leased(key, "send", &json!(1), lease).await
}

async fn lease(conn: &mut PgConnection, key: &IdempotencyKey) -> StoreLease {
    match try_lease(conn, key).await {
        Ok(Outcome::Fresh(held)) => held,
        other => panic!("no lease: {other:?}"),
    }
}

/// Makes the connection verify the table, so that its next claim is one message.
async fn verify(conn: &mut PgConnection) {
    let _verified = lease(conn, &fresh_key()).await;
}

async fn run(conn: &mut PgConnection, statement: &str) {
    conn.execute(sqlx::raw_sql(AssertSqlSafe(statement)))
        .await
        .unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// Returns whether the server has no transaction open on the connection.
async fn is_outside(conn: &mut PgConnection) -> bool {
    // One message: of a prepared statement, the transaction begins before it is executed.
    let row = conn
        .fetch_one(sqlx::raw_sql("SELECT now() = statement_timestamp()"))
        .await
        .expect("it answers");
    row.get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn inside_a_transaction_that_the_driver_does_not_know_nothing_is_written() {
    let database = Postgres::open().await;
    for begun in [
        "BEGIN",
        "BEGIN; SELECT 1",
        "BEGIN; SAVEPOINT one",
        "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1",
        "BEGIN READ ONLY; SELECT 1",
        "BEGIN; SELECT 1/0",
    ] {
        let mut conn = database.database.connect().await;
        let (claimed, refused_key) = (fresh_key(), fresh_key());
        let held = lease(&mut conn, &claimed).await;
        let until = database.record(&claimed).await.expect("there is one");
        let (mails, done) = (mails(), json!("done"));
        for operation in 0..3 {
            let _ = conn.execute(sqlx::raw_sql(begun)).await;
            let refused = match operation {
                0 => try_lease(&mut conn, &refused_key).await.map(drop),
                1 => mails.in_connection(&mut conn).extend(&held).await,
                _ => {
                    let mut bound = mails.in_connection(&mut conn);
                    bound.complete(&held, &done).await.map(drop)
                }
            };
            assert!(
                matches!(refused, Err(Error::AlreadyInTransaction)),
                "{begun}, {operation}: {refused:?}"
            );
            // A COMMIT by the user of the connection commits nothing of it.
            let _ = conn.execute(sqlx::raw_sql("COMMIT")).await;
            assert_eq!(database.status(&refused_key).await, None, "{begun}");
            let record = database.record(&claimed).await.expect("there is one");
            assert_eq!(record.status, Status::InProgress, "{begun}");
            assert_eq!(record.locked_until, until.locked_until, "{begun}");
        }
        let completed = mails.in_connection(&mut conn).complete(&held, &done).await;
        completed.expect("the connection is usable");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leased_call_is_right_under_every_default_and_leaves_the_session_as_it_was() {
    let database = Postgres::open().await;
    for setting in [
        ("default_transaction_isolation", "serializable"),
        ("default_transaction_isolation", "repeatable read"),
        ("default_transaction_read_only", "on"),
        ("default_transaction_deferrable", "on"),
        ("synchronous_commit", "off"),
        ("standard_conforming_strings", "off"),
        ("bytea_output", "escape"),
        ("client_encoding", "LATIN1"),
        ("DateStyle", "German"),
        ("plan_cache_mode", "force_generic_plan"),
    ] {
        let mut options = database.database.options().clone();
        options = options.options([setting]);
        let pool = sqlx::postgres::PgPoolOptions::new()
            .max_connections(1)
            .connect_lazy_with(options);
        let show = async || -> String {
            sqlx::query_scalar(AssertSqlSafe(format!("SHOW {}", setting.0)))
                .fetch_one(&pool)
                .await
                .expect("it answers")
        };
        let before = show().await;
        // The first call claims by itself, after the table is verified, and the second one by one message.
        for _ in 0..2 {
            let (key, desk) = (fresh_key(), Desk::new(&[Then::Wait]));
            let (through, at, by) = (pool.clone(), desk.clone(), key.clone());
            let run = tokio::spawn(async move { send_again(&through, &by, ada(), at).await });
            let attempt = desk.reached().await;
            attempt.heartbeat().await.expect("it is ours");
            desk.open();
            let sent = run.await.expect("no panic").expect("it is sent");
            assert!(!sent.replayed(), "{setting:?}");
            let again = send_again(&pool, &key, ada(), desk.clone()).await;
            assert!(again.expect("recorded").replayed(), "{setting:?}");
            assert_eq!(desk.count(), 1, "{setting:?}");
        }
        assert_eq!(show().await, before, "{setting:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_or_an_end_dropped_anywhere_is_whole_or_not_there_and_leaves_no_transaction() {
    let database = Postgres::open().await;
    let mut conn = database.database.connect().await;
    verify(&mut conn).await;
    for when in CUTS {
        for polls in 0.. {
            assert!(polls < MANY);
            let key = fresh_key();
            let claimed = cut(try_lease(&mut conn, &key), polls, when).await;
            assert!(is_outside(&mut conn).await, "{when:?} {polls}");
            match database.status(&key).await {
                Some(Status::InProgress) => {
                    let again = try_lease(&mut conn, &key).await;
                    assert!(matches!(again, Ok(Outcome::InFlight { .. })), "{again:?}");
                }
                None => drop(lease(&mut conn, &key).await),
                other => panic!("{when:?} {polls}: {other:?}"),
            }
            if claimed.is_some() {
                break;
            }
        }
        for polls in 0.. {
            assert!(polls < MANY);
            let (key, mails, done) = (fresh_key(), mails(), json!("done"));
            let held = lease(&mut conn, &key).await;
            let mut bound = mails.in_connection(&mut conn);
            let ended = cut(bound.complete(&held, &done), polls, when).await;
            assert!(is_outside(&mut conn).await, "{when:?} {polls}");
            let mut bound = mails.in_connection(&mut conn);
            bound
                .complete(&held, &done)
                .await
                .expect("done or repeated");
            assert_eq!(database.status(&key).await, Some(Status::Completed));
            if ended.is_some() {
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_a_trigger_refuses_or_swallows_is_an_error_and_leaves_no_transaction() {
    let database = Postgres::open().await;
    let mut conn = database.database.connect().await;
    verify(&mut conn).await;
    for (body, is_swallowed) in [("RETURN NULL", true), ("RAISE 'no'", false)] {
        run(
            &mut conn,
            &format!(
                "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN {body}; END $$; DROP TRIGGER IF EXISTS refuse ON idem_record; \
                 CREATE TRIGGER refuse BEFORE INSERT ON idem_record \
                 FOR EACH ROW EXECUTE FUNCTION refuse()"
            ),
        )
        .await;
        let key = fresh_key();
        let refused = try_lease(&mut conn, &key).await;
        match refused {
            Err(Error::RecordNotWritten) if is_swallowed => {}
            Err(Error::Database(_)) if !is_swallowed => {}
            other => panic!("{body}: {other:?}"),
        }
        assert!(is_outside(&mut conn).await, "{body}");
        assert_eq!(database.status(&key).await, None, "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_terminated_before_it_wrote_leaves_nothing_and_is_not_in_doubt() {
    let database = Postgres::open().await;
    let mut conn = database.database.connect().await;
    verify(&mut conn).await;
    let mut holder = database.database.connect().await;
    run(&mut holder, "BEGIN; LOCK TABLE idem_record IN SHARE MODE").await;
    let key = fresh_key();
    let terminate = async {
        let mut observer = database.database.observer().await;
        observer.until_blocked(1).await;
        assert_eq!(observer.terminate_blocked().await, 1);
    };
    let (refused, ()) = tokio::join!(try_lease(&mut conn, &key), terminate);
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    run(&mut holder, "ROLLBACK").await;
    assert_eq!(database.status(&key).await, None);
}

/// The server has committed locally when it waits for its standby.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_and_an_end_terminated_while_they_wait_for_a_standby_are_found_out() {
    let cluster = Cluster::start(Options::new().set("synchronous_commit", "on")).expect("a server");
    let database = Database::fresh_on(&cluster).await;
    let (mut conn, mut observer) = (database.connect().await, database.observer().await);
    idem_runtime::schema::create_if_missing(&mut conn)
        .await
        .expect("made");
    let pool = database.pool(1);
    // Verifies the table, so that the next claim is one message.
    let warm = send_once(&pool, fresh_key(), ada(), Desk::new(&[])).await;
    warm.expect("it is sent");
    run(
        &mut conn,
        "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
    )
    .await;
    run(&mut conn, "SELECT pg_reload_conf()").await;
    // The server has noticed it when a COMMIT waits.
    loop {
        tokio::select! {
            () = observer.until_waiting_for("SyncRep", 1) => break,
            () = run(&mut conn, "CREATE TABLE IF NOT EXISTS probe (); DROP TABLE probe") => {}
        }
    }
    let (key, desk) = (fresh_key(), Desk::new(&[Then::Wait]));
    let call = send_once(&pool, key.clone(), ada(), desk.clone());
    let terminate = async {
        observer.until_waiting_for("SyncRep", 2).await;
        assert_eq!(
            observer.terminate_others().await,
            2,
            "the probe and the claim"
        );
        // The claim was found out.
        desk.reached().await;
        let ended = "NOT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')";
        observer.until(ended).await;
        desk.open();
        observer.until_waiting_for("SyncRep", 1).await;
        assert!(observer.terminate_others().await >= 1, "the end");
    };
    let (sent, ()) = tokio::join!(call, terminate);
    let sent = sent.expect("both were committed");
    assert_eq!((sent.number, sent.replayed()), (1, false));
    assert_eq!(desk.count(), 1);
    let status: i16 = sqlx::query_scalar("SELECT status FROM idem_record WHERE key = $1")
        .bind(key.as_str())
        .fetch_one(&mut database.connect().await)
        .await
        .expect("it can be read");
    assert_eq!(status, 1);
}
