//! Errors of the database at the record's statement are reported as what they are.

use idem_runtime::{Error, Failure, IdempotencyKey, StoredFailure, idempotent};
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::postgres::payments::{Pay, PayError, pay, pay_then, pay_whatever};
use idem_tests::postgres::{Cluster, Options, Shop, fresh_key};
use sqlx::postgres::PgTransaction;
use sqlx::{AssertSqlSafe, Executor as _};

const CMD: Pay = Pay { amount: 1 };

pub(crate) const PARTITIONED: &str = "ALTER TABLE idem_record RENAME TO plain; \
     CREATE TABLE idem_record (LIKE plain INCLUDING ALL) PARTITION BY HASH (namespace, scope, key); \
     CREATE TABLE part_0 PARTITION OF idem_record FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
     CREATE TABLE part_1 PARTITION OF idem_record FOR VALUES WITH (MODULUS 2, REMAINDER 1)";

/// Returns SQL that inserts a copy of the record of `from` under the key `to`, without taking the
/// lock.
pub(crate) fn like(from: &IdempotencyKey, to: &IdempotencyKey) -> String {
    format!(
        "CREATE TEMP TABLE copy AS SELECT * FROM idem_record WHERE key = '{from}'; \
         UPDATE copy SET key = '{to}', attempt_id = gen_random_uuid(); INSERT INTO idem_record SELECT * FROM copy",
        from = from.as_str(),
        to = to.as_str(),
    )
}

#[tokio::test]
async fn a_competitors_record_in_a_partition_is_the_answer() {
    for joined in [false, true] {
        let shop = Shop::open(1).await;
        shop.run(PARTITIONED).await;
        let (first, key) = (fresh_key(), fresh_key());
        let paid = pay(&shop.pool, &first, &CMD).await.expect("fresh");
        let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
        let competitor = async {
            gate.entered().await;
            shop.run(&like(&first, &key)).await;
            gate.open();
        };
        let call = async {
            if !joined {
                return pay(&shop.pool, &key, &CMD).await;
            }
            let mut tx = shop.pool.begin().await?;
            let paid = pay(&mut tx, &key, &CMD).await;
            tx.commit().await?;
            paid
        };
        let (again, ()) = tokio::join!(call, competitor);
        let again = again.expect("the rival's");
        assert!(again.replayed());
        assert_eq!(*again, *paid);
        assert_eq!(shop.effects(&key).await, (0, 1));
    }
}

/// Row security hides the detail of a violation, which names the key.
#[tokio::test]
async fn a_competitors_record_in_a_partition_is_the_answer_to_a_role_that_is_not_shown_the_detail()
{
    let shop = Shop::open(1).await;
    shop.run(PARTITIONED).await;
    shop.run(
        "GRANT ALL ON payment, idem_record, payment_id_seq TO pg_monitor; \
         ALTER TABLE part_0 ENABLE ROW LEVEL SECURITY; ALTER TABLE part_1 ENABLE ROW LEVEL SECURITY",
    )
    .await;
    let options = shop.database.options().clone();
    let pool = shop.pool_by(1, options.options([("role", "pg_monitor")]));
    let (first, key) = (fresh_key(), fresh_key());
    let paid = pay(&pool, &first, &CMD).await.expect("fresh");
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let competitor = async {
        gate.entered().await;
        shop.run(&like(&first, &key)).await;
        gate.open();
    };
    let (again, ()) = tokio::join!(pay(&pool, &key, &CMD), competitor);
    let again = again.expect("the rival's");
    assert!(again.replayed());
    assert_eq!(*again, *paid);
    assert_eq!(shop.effects(&key).await, (0, 1));
}

async fn after_insert(shop: &Shop, body: &str) {
    shop.run(&format!(
        "CREATE OR REPLACE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}; RETURN NULL; END $$; \
         DROP TRIGGER IF EXISTS more ON idem_record; \
         CREATE TRIGGER more AFTER INSERT ON idem_record FOR EACH ROW EXECUTE FUNCTION more()"
    ))
    .await;
}

/// An error raised by a trigger on the record's table is reported as the trigger's, whatever its
/// code, and not as a finding of the library.
#[tokio::test]
async fn a_triggers_own_error_is_not_taken_for_a_finding_of_the_librarys() {
    let shop = Shop::open(1).await;
    shop.run("CREATE TABLE audit (n int UNIQUE); INSERT INTO audit VALUES (1)")
        .await;
    for (body, code) in [
        ("PERFORM current_setting('app.tenant')", "42704"),
        ("INSERT INTO nowhere VALUES (1)", "42P01"),
        ("INSERT INTO nowhere.audit VALUES (1)", "42P01"),
        ("PERFORM 1 / 0", "22012"),
        ("PERFORM nothing FROM audit", "42703"),
        ("INSERT INTO audit VALUES (1)", "23505"),
        ("PERFORM 'x'::int", "22P02"),
        ("RAISE EXCEPTION USING ERRCODE = '0A000'", "0A000"),
        ("RAISE EXCEPTION USING ERRCODE = '42501'", "42501"),
        ("RAISE EXCEPTION USING ERRCODE = '3F000'", "3F000"),
        ("RAISE EXCEPTION USING ERRCODE = '42704'", "42704"),
    ] {
        after_insert(&shop, body).await;
        for joined in [false, true] {
            let key = fresh_key();
            let refused = if joined {
                let mut tx = shop.pool.begin().await.expect("a transaction");
                let refused = pay(&mut tx, &key, &CMD).await;
                tx.commit().await.expect("it only lost a savepoint");
                refused
            } else {
                pay(&shop.pool, &key, &CMD).await
            };
            let refusal = refused.expect_err(body).refusal();
            let Error::Database(error) = &refusal else {
                panic!("{body}: {refusal:?}");
            };
            assert_eq!(error.code().as_deref(), Some(code), "{body}");
            shop.assert_no_effect(&key).await;
        }
    }
    shop.run("DROP TRIGGER more ON idem_record").await;
    pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");
}

/// The same at the look-up, where a row security policy may call a function.
#[tokio::test]
async fn a_policys_own_error_is_not_taken_for_a_finding_of_the_librarys() {
    let shop = Shop::open(1).await;
    shop.run(
        "GRANT ALL ON payment, idem_record, payment_id_seq TO pg_monitor; \
         ALTER TABLE idem_record ENABLE ROW LEVEL SECURITY",
    )
    .await;
    let options = shop.database.options().clone();
    let pool = shop.pool_by(1, options.options([("role", "pg_monitor")]));
    for (body, code) in [
        ("RETURN current_setting('app.tenant') = 'x'", "42704"),
        ("RETURN EXISTS (SELECT FROM nowhere)", "42P01"),
        ("RETURN 1 / 0 = 1", "22012"),
        ("RETURN nothing", "42703"),
        ("RAISE EXCEPTION USING ERRCODE = '25001'", "25001"),
        ("RAISE EXCEPTION USING ERRCODE = '0A000'", "0A000"),
    ] {
        shop.run(&format!(
            "CREATE OR REPLACE FUNCTION seen() RETURNS bool LANGUAGE plpgsql AS $$ BEGIN {body}; END $$; \
             DROP POLICY IF EXISTS seen ON idem_record; \
             CREATE POLICY seen ON idem_record USING (seen()) WITH CHECK (true)"
        ))
        .await;
        // A policy is evaluated for a record that the look-up finds.
        let key = fresh_key();
        pay(&shop.pool, &key, &CMD).await.expect("by its owner");
        let refusal = pay(&pool, &key, &CMD).await.expect_err(body).refusal();
        let Error::Database(error) = &refusal else {
            panic!("{body}: {refusal:?}");
        };
        assert_eq!(error.code().as_deref(), Some(code), "{body}");
    }
}

#[tokio::test]
async fn a_role_without_a_grant_is_told_which() {
    let shop = Shop::open(1).await;
    shop.run("GRANT ALL ON payment, payment_id_seq TO pg_monitor")
        .await;
    let set_role = "SET LOCAL ROLE pg_monitor";
    for joined in [false, true] {
        let key = fresh_key();
        let refused = if joined {
            let mut tx = shop.pool.begin().await.expect("a transaction");
            let refused = pay_then(&mut tx, &key, &CMD, set_role).await;
            tx.commit().await.expect("it only lost a savepoint");
            refused
        } else {
            pay_then(&shop.pool, &key, &CMD, set_role).await
        };
        let refusal = refused.expect_err("it may not").refusal();
        let Error::PermissionDenied {
            table, privilege, ..
        } = &refusal
        else {
            panic!("{refusal:?}");
        };
        assert_eq!((&**table, *privilege), ("idem_record", "INSERT"));
        let text = refusal.to_string();
        assert!(text.contains("GRANT INSERT ON idem_record"), "{text}");
        assert!(!refusal.is_retryable());
        shop.assert_no_effect(&key).await;
    }
    let options = shop.database.options().clone();
    let pool = shop.pool_by(1, options.options([("role", "pg_monitor")]));
    let refusal = pay(&pool, &fresh_key(), &CMD)
        .await
        .expect_err("it may not");
    let refusal = refusal.refusal();
    assert!(
        matches!(
            refusal,
            Error::PermissionDenied {
                privilege: "SELECT",
                ..
            }
        ),
        "{refusal:?}"
    );
}

/// If a body has ended its transaction *and* replaced the table, the call reports the former where
/// it can be known.
#[tokio::test]
async fn a_body_that_moves_the_table_is_told_so_and_how_to_name_it() {
    for sql in [
        "CREATE SCHEMA elsewhere; SET LOCAL search_path = elsewhere",
        "CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.idem_record \
         (LIKE public.idem_record INCLUDING ALL); SET LOCAL search_path = elsewhere",
        "CREATE TEMP TABLE idem_record (LIKE public.idem_record INCLUDING ALL) ON COMMIT DROP",
        "ALTER TABLE idem_record RENAME TO elsewhere",
    ] {
        for joined in [false, true] {
            let shop = Shop::open(1).await;
            let key = fresh_key();
            let refused = if joined {
                let mut tx = shop.pool.begin().await.expect("a transaction");
                let refused = pay_then(&mut tx, &key, &CMD, sql).await;
                tx.commit().await.expect("it only lost a savepoint");
                refused
            } else {
                pay_then(&shop.pool, &key, &CMD, sql).await
            };
            let refusal = refused.expect_err(sql).refusal();
            assert!(
                matches!(&refusal, Error::TableMoved { table } if table == "idem_record"),
                "{sql}: {refusal:?}"
            );
            let text = refusal.to_string();
            for word in ["search_path", "schema.idem_record", "rolled back"] {
                assert!(text.contains(word), "{text}");
            }
            shop.assert_no_effect(&key).await;
            pay(&shop.pool, &key, &CMD).await.expect("the key is fresh");
            shop.assert_one_effect(&key).await;
        }
    }
}

#[derive(Debug, thiserror::Error, Failure)]
enum Sale {
    #[error("sold out")]
    #[failure(permanent, database)]
    SoldOut(#[source] sqlx::Error),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

#[idempotent(namespace = "sales", failures = "record", skip(sql))]
async fn sell(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, sql: &str) -> Result<i64, Sale> {
    let _ = key;
    let sold = tx.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await;
    sold.map(|_| 1).map_err(Sale::SoldOut)
}

/// A deadlock or serialization failure is not the request's fault: a retry could succeed.
#[tokio::test]
async fn a_deadlock_that_a_body_calls_permanent_is_not_recorded() {
    let shop = Shop::open(1).await;
    for (code, recorded) in [("40P01", 0), ("40001", 0), ("23514", 1)] {
        let key = fresh_key();
        let raise = format!("DO 'BEGIN RAISE EXCEPTION USING ERRCODE = ''{code}''; END'");
        let failed = sell(&shop.pool, &key, &raise).await;
        // The recorded failure does not contain the database's error, and the first caller gets it
        // without as well.
        let is_recorded = matches!(failed, Err(Sale::Recorded(_)));
        assert!(
            is_recorded == (recorded == 1)
                && (is_recorded || matches!(failed, Err(Sale::SoldOut(_)))),
            "{code}: {failed:?}"
        );
        assert_eq!(shop.records(&key).await, recorded, "{code}");
        let again = sell(&shop.pool, &key, "SELECT 1").await;
        assert_eq!(again.is_ok(), recorded == 0, "{code}: {again:?}");
    }
}

/// A server with a small lock table, and a body that fills it.
#[tokio::test]
async fn a_full_table_of_locks_names_its_setting_and_is_not_other_writers() {
    let few = Options::new()
        .set("max_locks_per_transaction", "10")
        .set("max_connections", "10")
        .set("max_prepared_transactions", "0");
    let cluster = Cluster::start(few).expect("a server");
    let shop = Shop::open_on(&cluster, 1).await;
    let key = fresh_key();
    pay(&shop.pool, &fresh_key(), &CMD).await.expect("fresh");

    // Another session holds all of them.
    let mut other = shop.database.connect().await;
    let all = "SELECT pg_advisory_lock(n) FROM generate_series(1, 100000) AS n";
    other.execute(all).await.expect_err("there are not so many");
    let refusal = pay(&shop.pool, &key, &CMD).await;
    let refusal = refusal.expect_err("there is none left").refusal();
    assert!(matches!(refusal, Error::LockTableFull(_)), "{refusal:?}");
    assert!(refusal.is_retryable());
    let text = refusal.to_string();
    assert!(text.contains("max_locks_per_transaction"), "{text}");
    assert!(!text.contains("other writers"), "{text}");
    other
        .execute("SELECT pg_advisory_unlock_all()")
        .await
        .expect("they are its own");

    // The body fills the lock table itself and ignores the error: the call still reports it.
    let all = "SELECT pg_advisory_xact_lock(n) FROM generate_series(1, 100000) AS n";
    let refusal = pay_whatever(&shop.pool, &key, &CMD, all).await;
    let refusal = refusal.expect_err("its writes are gone").refusal();
    assert!(matches!(refusal, Error::TransactionAborted), "{refusal:?}");
    let failed = pay_then(&shop.pool, &key, &CMD, all).await;
    assert!(matches!(failed, Err(PayError::Database(_))), "{failed:?}");
    shop.assert_no_effect(&key).await;
    pay(&shop.pool, &key, &CMD).await.expect("they are free");
}
