//! Sessions and servers with various settings.

use std::time::{Duration, SystemTime};

use idem_runtime::store::Store;
use idem_runtime::{Error, IdempotencyKey, Namespace, idempotent};
use idem_tests::gate::{self, Gate, GatePoint};
use idem_tests::mysql::payments::{Paid, Pay, PayError, charge, pay, pay_then};
use idem_tests::mysql::{Options, Server, Shop, fresh_key};
use serde_json::Value;
use sqlx::mysql::MySqlTransaction;
use sqlx::{Executor as _, MySqlPool};

const CMD: Pay = Pay { amount: 1 };

async fn is_in_transaction(pool: &MySqlPool) -> bool {
    let open: i64 = sqlx::query_scalar("SELECT CAST(@@in_transaction AS SIGNED)")
        .fetch_one(pool)
        .await
        .expect("the server answers");
    open != 0
}

#[tokio::test]
async fn a_session_of_any_setting_pays_once_and_replays() {
    for setting in [
        "SET autocommit = 0",
        "SET SESSION completion_type = 'CHAIN'",
        "SET SESSION completion_type = 'RELEASE'",
        "SET sql_mode = ''",
        "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,EMPTY_STRING_IS_NULL'",
        "SET sql_mode = 'ORACLE'",
        "SET time_zone = '-11:30'",
        "SET SESSION TRANSACTION READ ONLY",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET NAMES latin1",
        "SET innodb_snapshot_isolation = 1",
        "SET unique_checks = 0, check_constraint_checks = 0",
        "SET SESSION innodb_lock_wait_timeout = 0",
    ] {
        let shop = Shop::open(1).await;
        let pool = shop.pool_with(1, setting);
        let key = fresh_key();
        for again in [false, true, true] {
            let paid = pay(&pool, &key, &CMD).await;
            let paid = paid.unwrap_or_else(|error| panic!("{setting}: {error:?}"));
            assert_eq!(paid.replayed(), again, "{setting}");
            assert!(!is_in_transaction(&pool).await, "{setting}");
        }
        shop.assert_one_effect(&key).await;
        // Also in a caller's transaction.
        let key = fresh_key();
        // Under READ ONLY it may not write, and in Oracle's mode sqlx's BEGIN is another thing.
        if !(setting.contains("READ ONLY") || setting.contains("ORACLE")) {
            let mut tx = pool.begin().await.expect(setting);
            let paid = pay(&mut tx, &key, &CMD).await.expect(setting);
            assert!(!paid.replayed());
            tx.commit().await.expect(setting);
            shop.assert_one_effect(&key).await;
        }
    }
}

#[tokio::test]
async fn a_duplicate_refused_under_autocommit_off_leaves_no_transaction_behind() {
    let shop = Shop::open(1).await;
    let pool = shop.pool_with(1, "SET autocommit = 0");
    let key = fresh_key();
    let mut tx = shop.pool.begin().await.expect("a transaction");
    pay(&mut tx, &key, &CMD).await.expect("fresh");
    let refusal = pay(&pool, &key, &CMD).await.expect_err("it runs").refusal();
    assert!(matches!(refusal, Error::InFlight { .. }), "{refusal:?}");
    assert!(!is_in_transaction(&pool).await);
}

/// Reads twice and waits at the gate in between.
#[idempotent(namespace = "payments", operation = "pay")]
async fn pay_and_count_twice(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<(i64, i64), PayError> {
    charge(tx, key, cmd).await?;
    let count = "SELECT count(*) FROM payment";
    let before = sqlx::query_scalar(count).fetch_one(&mut **tx).await?;
    gate::pass(key.as_str(), GatePoint::Last).await;
    let after = sqlx::query_scalar(count).fetch_one(&mut **tx).await?;
    Ok((before, after))
}

#[tokio::test]
async fn a_body_runs_under_its_sessions_own_isolation() {
    for (isolation, repeatable) in [
        (
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            false,
        ),
        (
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            true,
        ),
    ] {
        let shop = Shop::open(1).await;
        let pool = shop.pool_with(1, isolation);
        let key = fresh_key();
        let gate = Gate::at(key.as_str(), GatePoint::Last);
        let meanwhile = async {
            gate.entered().await;
            pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");
            gate.open();
        };
        let (counted, ()) = tokio::join!(pay_and_count_twice(&pool, &key, &CMD), meanwhile);
        let (before, after) = counted.expect("fresh").into_inner();
        assert_eq!(before == after, repeatable, "{isolation}");
    }
}

#[tokio::test]
async fn a_record_bears_the_servers_time_in_whatever_zone_it_stands() {
    let server = Server::start(&Options::new().set("default-time-zone", "'+05:45'"));
    let server = server.expect("a server");
    let shop = Shop::open_on(&server, 1).await;
    for zone in ["SET time_zone = '-11:30'", "SET time_zone = '+13:00'"] {
        let key = fresh_key();
        let pool = shop.pool_with(1, zone);
        pay(&pool, &key, &CMD).await.expect("fresh");
        let store = Store::<Value, Value>::new(Namespace::from_static("payments"));
        let mut connection = shop.database.connect().await;
        let found = store.in_connection(&mut connection).get(&key).await;
        let found = found.expect("it can be read").expect("it is there");
        // Server and test run on the same machine and share a clock.
        let written = SystemTime::from(found.created_at);
        let age = SystemTime::now().duration_since(written);
        assert!(age.is_ok_and(|age| age < Duration::from_hours(1)), "{zone}");
        let expires = found.expires_at.expect("it expires");
        assert_eq!(expires.since(found.created_at), Duration::from_hours(24));
    }
}

#[tokio::test]
async fn a_server_that_takes_no_writes_refuses_even_a_replay() {
    let server = Server::start(&Options::new()).expect("a server");
    let shop = Shop::open_on(&server, 1).await;
    shop.run("CREATE USER plain@'127.0.0.1'; GRANT ALL ON `idem%`.* TO plain@'127.0.0.1'")
        .await;
    let plain = shop.database.options().clone().username("plain");
    let plain = shop.pool_by(1, plain);
    let key = fresh_key();
    pay(&plain, &key, &CMD).await.expect("fresh");
    shop.run("SET GLOBAL read_only = 1").await;
    // Also for accounts with the right to write on a read-only server: on a replica they would
    // write.
    for pool in [&plain, &shop.pool] {
        for key in [&key, &fresh_key()] {
            let refusal = pay(pool, key, &CMD).await.expect_err("it takes no writes");
            let refusal = refusal.refusal();
            assert!(matches!(refusal, Error::ReadOnly(_)), "{refusal:?}");
        }
    }
    let mut tx = shop.pool.begin().await.expect("a transaction");
    let refusal = pay(&mut tx, &fresh_key(), &CMD).await;
    let refusal = refusal.expect_err("it takes no writes").refusal();
    assert!(matches!(refusal, Error::ReadOnly(_)), "{refusal:?}");
    tx.rollback().await.expect("the server answers");
    shop.run("SET GLOBAL read_only = 0").await;
    assert!(pay(&plain, &key, &CMD).await.expect("recorded").replayed());
}

#[tokio::test]
async fn a_body_cut_off_by_its_statements_time_leaves_nothing() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let sql = "SET STATEMENT max_statement_time = 0.01 FOR SELECT SLEEP(10)";
    let failed = pay_then(&shop.pool, &key, &CMD, sql).await;
    assert!(matches!(failed, Err(PayError::Database(_))), "{failed:?}");
    shop.assert_no_effect(&key).await;
    let paid: Paid = *pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
    assert!(paid.id > 0);
}

/// A look-up that does not wait for a row lock does not wait for a table lock either.
#[tokio::test]
async fn a_table_that_is_locked_is_in_flight_for_all_its_keys() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let mut holder = shop.database.connect().await;
    for (order, taken) in [
        ("LOCK TABLES idem_record WRITE", true),
        ("UNLOCK TABLES", false),
    ] {
        holder.execute(order).await.expect("nobody uses it");
        match pay(&shop.pool, &key, &CMD).await {
            Ok(paid) => assert!(!taken && !paid.replayed()),
            Err(PayError::Idempotency(Error::InFlight { .. })) => assert!(taken),
            Err(error) => panic!("{error:?}"),
        }
    }
}
