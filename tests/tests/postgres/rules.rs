//! The rules of the record: its clock, its arbiter, its limits.

use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::postgres::payments::{Paid, Pay, PayError, charge, pay};
use idem_tests::postgres::{Shop, fresh_key};
use sqlx::postgres::{PgPoolOptions, PgTransaction};
use sqlx::{Executor as _, PgPool, Row as _};

const CMD: Pay = Pay { amount: 1 };

#[idempotent(
    namespace = "payments",
    operation = "pay",
    retention = "1h",
    expiry = "strict"
)]
async fn pay_strictly(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

async fn attempts(shop: &Shop, key: &IdempotencyKey) -> i32 {
    sqlx::query_scalar("SELECT attempt FROM idem_record WHERE key = $1")
        .bind(key.as_str())
        .fetch_one(&shop.pool)
        .await
        .expect("it is recorded")
}

/// A record has the time of its statement by the server's clock, even in an old transaction.
#[tokio::test]
async fn a_record_bears_the_servers_time_of_its_writing() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    let mut tx = shop.pool.begin().await.expect("a transaction");
    tx.execute("CREATE TEMP TABLE before AS SELECT clock_timestamp() AS at")
        .await
        .expect("a mark");
    pay_strictly(&mut tx, &key, &CMD).await.expect("fresh");
    let row = sqlx::query(
        "SELECT created_at >= before.at AND created_at > now() AND created_at <= clock_timestamp() AS now, \
         expires_at - created_at = interval '1 hour' AS kept FROM idem_record, before WHERE key = $1",
    )
    .bind(key.as_str())
    .fetch_one(&mut *tx)
    .await
    .expect("it is recorded");
    assert!(row.get::<bool, _>("now"));
    assert!(row.get::<bool, _>("kept"));
}

#[tokio::test]
async fn an_expired_record_replays_until_purged_and_under_strict_expiry_counts_as_absent() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    pay(&shop.pool, &key, &CMD).await.expect("fresh");
    assert!(
        pay_strictly(&shop.pool, &key, &CMD)
            .await
            .expect("recorded")
            .replayed()
    );
    shop.run("UPDATE idem_record SET expires_at = clock_timestamp() - interval '1 second'")
        .await;
    assert!(
        pay(&shop.pool, &key, &CMD)
            .await
            .expect("not purged")
            .replayed()
    );
    assert!(
        !pay_strictly(&shop.pool, &key, &CMD)
            .await
            .expect("absent")
            .replayed()
    );
    assert_eq!(
        (shop.payments(&key).await, shop.records(&key).await),
        (2, 1)
    );
    assert_eq!(attempts(&shop, &key).await, 2);
    assert!(
        pay_strictly(&shop.pool, &key, &CMD)
            .await
            .expect("recorded anew")
            .replayed()
    );
}

/// Creates a pool of a role from which row security hides every record.
async fn blindfolded(shop: &Shop) -> PgPool {
    shop.run(
        "GRANT ALL ON payment, idem_record, payment_id_seq TO pg_monitor;
         ALTER TABLE idem_record ENABLE ROW LEVEL SECURITY;
         CREATE POLICY add ON idem_record FOR INSERT WITH CHECK (true);
         CREATE POLICY see ON idem_record FOR SELECT USING (false)",
    )
    .await;
    PgPoolOptions::new()
        .max_connections(1)
        .after_connect(|connection, _| {
            Box::pin(async move { connection.execute("SET ROLE pg_monitor").await.map(drop) })
        })
        .connect_lazy_with(shop.database.options().clone())
}

#[tokio::test]
async fn a_winner_that_row_security_hides_is_an_error_and_no_second_effect() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    pay(&shop.pool, &key, &CMD).await.expect("fresh");
    let pool = blindfolded(&shop).await;
    let refusal = pay(&pool, &key, &CMD)
        .await
        .expect_err("it is hidden")
        .refusal();
    assert!(matches!(refusal, Error::RecordInvisible), "{refusal:?}");
    shop.assert_one_effect(&key).await;
    let mut tx = pool.begin().await.expect("a transaction");
    let refusal = pay(&mut tx, &key, &CMD)
        .await
        .expect_err("it is hidden")
        .refusal();
    assert!(matches!(refusal, Error::RecordInvisible), "{refusal:?}");
    tx.commit().await.expect("it only lost a savepoint");
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn a_trigger_that_swallows_the_record_is_found_out_and_nothing_is_kept() {
    let shop = Shop::open(1).await;
    // Created after the table was verified.
    pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");
    shop.run(
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER swallow BEFORE INSERT ON idem_record FOR EACH ROW EXECUTE FUNCTION swallow()",
    )
    .await;
    let key = fresh_key();
    let refusal = pay(&shop.pool, &key, &CMD)
        .await
        .expect_err("no row")
        .refusal();
    assert!(matches!(refusal, Error::RecordNotWritten), "{refusal:?}");
    shop.assert_no_effect(&key).await;
}

#[tokio::test]
async fn a_table_without_its_constraint_runs_no_body() {
    let shop = Shop::open(1).await;
    shop.run("ALTER TABLE idem_record DROP CONSTRAINT idem_record_pkey")
        .await;
    let key = fresh_key();
    let refusal = pay(&shop.pool, &key, &CMD)
        .await
        .expect_err("nothing arbitrates")
        .refusal();
    assert!(matches!(refusal, Error::Schema(_)), "{refusal:?}");
    shop.assert_no_effect(&key).await;
}

#[tokio::test]
async fn a_status_that_this_build_does_not_know_never_runs_the_body() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    pay(&shop.pool, &key, &CMD).await.expect("fresh");
    shop.run(
        "ALTER TABLE idem_record DROP CONSTRAINT idem_record_status; UPDATE idem_record SET status = 9",
    )
    .await;
    let refusal = pay(&shop.pool, &key, &CMD)
        .await
        .expect_err("what is 9?")
        .refusal();
    assert!(
        matches!(refusal, Error::UnknownState { value: 9, .. }),
        "{refusal:?}"
    );
    shop.assert_one_effect(&key).await;
}

/// The table refuses only a part of them.
#[tokio::test]
async fn a_record_whose_columns_do_not_fit_its_status_never_runs_the_body() {
    for change in [
        "result = NULL",
        "status = 2",
        "status = 3",
        "status = 3, result = NULL",
        "status = 3, result = NULL, locked_until = now()",
        "status = 4, result = NULL",
        "status = 5",
        "result = NULL, failure = '{}'",
        "result = NULL, locked_until = now(), expires_at = 'infinity'",
    ] {
        let shop = Shop::open(1).await;
        let key = fresh_key();
        pay(&shop.pool, &key, &CMD).await.expect("fresh");
        shop.run(&format!("UPDATE idem_record SET {change}")).await;
        let refusal = pay(&shop.pool, &key, &CMD)
            .await
            .expect_err(change)
            .refusal();
        assert!(
            matches!(refusal, Error::UnknownState { .. }),
            "{change}: {refusal:?}"
        );
        shop.assert_one_effect(&key).await;
    }
}

#[tokio::test]
async fn a_result_that_no_longer_decodes_is_an_error_and_never_runs_the_body() {
    let shop = Shop::open(1).await;
    let key = fresh_key();
    pay(&shop.pool, &key, &CMD).await.expect("fresh");
    shop.run(r#"UPDATE idem_record SET result = '{"id":"seven"}'"#)
        .await;
    let refusal = pay(&shop.pool, &key, &CMD)
        .await
        .expect_err("it is no number")
        .refusal();
    match refusal {
        Error::IncompatibleState {
            operation, path, ..
        } => {
            assert_eq!((&*operation, &*path), ("pay", "id"));
        }
        other => panic!("{other:?}"),
    }
    shop.assert_one_effect(&key).await;
}

#[tokio::test]
async fn keys_differ_by_case_and_by_form() {
    let shop = Shop::open(1).await;
    for text in ["Req-A", "req-a", "caf\u{e9}", "cafe\u{301}", "a b", "a  b"] {
        let key = text.parse::<IdempotencyKey>().expect("a key").global();
        assert!(
            !pay(&shop.pool, &key, &CMD).await.expect("fresh").replayed(),
            "{text}"
        );
        shop.assert_one_effect(&key).await;
    }
}
