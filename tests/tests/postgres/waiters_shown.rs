//! Which records those who wait for a key are shown, and when one of them claims.

use idem_runtime::{IdempotencyKey, idempotent, waiters};
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::postgres::payments::{Paid, Pay, PayError, charge, pay, pay_patiently};
use idem_tests::postgres::{Cluster, Options, Shop, fresh_key};
use idem_tests::waiting::{until_looked, until_waiting};
use sqlx::postgres::{PgConnection, PgPoolOptions, PgTransaction};
use sqlx::{AssertSqlSafe, Executor as _};
use tokio::task::JoinSet;
use tokio::task_local;

use super::refusals::like;

const CMD: Pay = Pay { amount: 1 };

/// A connection goes back to its pool inside a transaction that the driver does not know of, and the next look is made
/// through it.
#[tokio::test]
async fn a_record_that_is_not_committed_is_shown_to_no_waiter() {
    let shop = Shop::open(2).await;
    let (other, key) = (fresh_key(), fresh_key());
    pay(&shop.pool, &other, &CMD).await.expect("fresh");
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let first = {
        let (pool, key) = (shop.pool.clone(), key.clone());
        tokio::spawn(async move { pay(&pool, &key, &CMD).await })
    };
    gate.entered().await;
    let pool = shop.pool_by(1, shop.database.options().clone());
    let waiting = {
        let (pool, key) = (pool.clone(), key.clone());
        tokio::spawn(async move { pay_patiently(&pool, &key, &CMD).await })
    };
    until_waiting(1).await;
    let leaked = format!("BEGIN; {}", like(&other, &key));
    let mut connection = pool.acquire().await.expect("a connection");
    let leak = connection.execute(sqlx::raw_sql(AssertSqlSafe(leaked)));
    leak.await.expect("it is left open");
    drop(connection);
    until_looked(3).await;
    assert_eq!(waiters::observed().0, 1, "it waits for what is committed");
    gate.open();
    let paid = first.await.expect("it ends").expect("paid");
    let replayed = waiting.await.expect("it ends").expect("a replay");
    assert!(replayed.replayed());
    assert_eq!(*replayed, *paid);
    shop.assert_one_effect(&key).await;
}

/// Pays anew once the record has expired, and waits for another that does.
#[idempotent(
    namespace = "payments",
    operation = "pay",
    expiry = "strict",
    on_conflict = "wait",
    wait = "30s"
)]
async fn pay_anew(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

#[tokio::test]
async fn while_an_expired_record_is_replaced_no_waiter_claims_in_vain() {
    let logged = Options::new()
        .set("log_statement", "all")
        .set("log_line_prefix", "%a|");
    let cluster = Cluster::start(logged).expect("a server");
    let shop = Shop::open_on(&cluster, 2).await;
    let key = fresh_key();
    pay(&shop.pool, &key, &CMD).await.expect("fresh");
    shop.run("UPDATE idem_record SET expires_at = created_at")
        .await;
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let replacing = {
        let (pool, key) = (shop.pool.clone(), key.clone());
        tokio::spawn(async move { pay_anew(&pool, &key, &CMD).await })
    };
    gate.entered().await;
    let options = shop.database.options().clone().application_name("waiters");
    let (pool, mut waiting) = (shop.pool_by(4, options), JoinSet::new());
    for _ in 0..8 {
        let (pool, key) = (pool.clone(), key.clone());
        waiting.spawn(async move { pay_anew(&pool, &key, &CMD).await });
    }
    until_waiting(8).await;
    let claims = claims(&shop).await;
    until_looked(10).await;
    assert_eq!(self::claims(&shop).await, claims);
    gate.open();
    let paid = replacing.await.expect("it ends").expect("paid");
    assert!(!paid.replayed());
    for replayed in waiting.join_all().await {
        let replayed = replayed.expect("a replay");
        assert!(replayed.replayed());
        assert_eq!(*replayed, *paid);
    }
    assert_eq!(shop.payments(&key).await, 2, "one for each record");
}

task_local! {
    static TENANT: &'static str;
}

async fn select_tenant(conn: &mut PgConnection) -> sqlx::Result<()> {
    let tenant = TENANT.try_with(|tenant| *tenant).unwrap_or("one");
    let sql = format!("SET search_path = {tenant}, public");
    conn.execute(AssertSqlSafe(sql)).await.map(drop)
}

/// Each tenant has a schema, which the pool selects for the task that acquires a connection. A look without a tenant
/// is made in the first tenant's.
#[tokio::test]
async fn a_waiter_is_answered_by_its_own_connection_and_not_by_the_look_that_wakes_it() {
    let shop = Shop::open(4).await;
    shop.run(
        "CREATE SCHEMA one; CREATE SCHEMA two; \
         CREATE TABLE one.idem_record (LIKE public.idem_record INCLUDING ALL); \
         CREATE TABLE two.idem_record (LIKE public.idem_record INCLUDING ALL)",
    )
    .await;
    let pool = PgPoolOptions::new()
        .max_connections(4)
        .after_connect(|conn, _| Box::pin(select_tenant(conn)))
        .before_acquire(|conn, _| {
            Box::pin(async {
                select_tenant(conn).await?;
                Ok(true)
            })
        })
        .connect_lazy_with(shop.database.options().clone());
    let key = fresh_key();
    let call = |tenant| {
        let (pool, key) = (pool.clone(), key.clone());
        tokio::spawn(TENANT.scope(
            tenant,
            async move { pay_patiently(&pool, &key, &CMD).await },
        ))
    };
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let one = call("one");
    gate.entered().await;
    let (again, two) = (call("one"), call("two"));
    until_waiting(2).await;
    drop(gate);
    let paid = one.await.expect("it ends").expect("paid");
    let again = again.await.expect("it ends").expect("a replay");
    assert!(again.replayed());
    assert_eq!(*again, *paid);
    let other = two.await.expect("it ends").expect("paid");
    assert!(
        !other.replayed(),
        "the other tenant's record is not its own"
    );
    assert_ne!(*other, *paid);
}

/// Returns how often those who wait have begun a transaction.
async fn claims(shop: &Shop) -> usize {
    let log: String = sqlx::query_scalar(
        "SELECT pg_read_file(current_setting('data_directory') || '/../server.log')",
    )
    .fetch_one(&mut shop.database.connect().await)
    .await
    .expect("a superuser reads the log");
    let begins = |line: &&str| line.starts_with("waiters|") && line.contains("BEGIN");
    log.lines().filter(begins).count()
}
