//! Large results, which are not sent as text.

use idem_runtime::{Error, Operation};
use idem_tests::postgres::payments::PayError;
use idem_tests::postgres::{Cluster, Options, Shop, fresh_key};
use sqlx::{AssertSqlSafe, Executor as _, PgPool};

/// The bytes of a record that are sent as text at most.
const TEXT_MAX: usize = 1024 * 1024;
const LONG: Operation = Operation::new("large", "put").result_limit(4 * TEXT_MAX);

/// Returns a result of this many bytes of JSON after running `sql` in the body.
async fn record_text(pool: &PgPool, bytes: usize, sql: &str) -> Result<bool, PayError> {
    let key = fresh_key();
    let recorded = LONG.run(pool, &key, &1, async |tx| {
        tx.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
        Ok::<_, PayError>("x".repeat(bytes - 2))
    });
    recorded.await.map(|recorded| recorded.replayed())
}

#[tokio::test]
async fn a_large_result_is_bound_and_not_part_of_the_text_of_a_message() {
    let logged = Options::new()
        .set("log_statement", "all")
        .set("log_parameter_max_length", "0")
        .set("log_line_prefix", "%a|");
    let cluster = Cluster::start(logged).expect("a server");
    let shop = Shop::open_on(&cluster, 1).await;
    let options = shop.database.options().clone().application_name("putter");
    let pool = shop.pool_by(1, options);
    for bytes in [TEXT_MAX, TEXT_MAX + 1] {
        assert!(
            !record_text(&pool, bytes, "SELECT 1")
                .await
                .expect("recorded")
        );
    }
    let (fused, plain): (i64, i64) = sqlx::query_as(
        "SELECT count(*) FILTER (WHERE line ~ 'EXECUTE idem_record.*COMMIT AND CHAIN'), \
         count(*) FILTER (WHERE line ~ 'statement: COMMIT$') \
         FROM regexp_split_to_table(pg_read_file(current_setting('data_directory') || '/../server.log'), '\n') \
         AS line WHERE line LIKE 'putter|%'",
    )
    .fetch_one(&mut shop.database.connect().await)
    .await
    .expect("a superuser reads the log");
    assert_eq!((fused, plain), (1, 1));
}

#[tokio::test]
async fn a_large_result_goes_into_the_table_that_was_looked_at_or_into_none() {
    for sql in [
        "CREATE SCHEMA elsewhere; SET LOCAL search_path = elsewhere",
        "CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.idem_record \
         (LIKE public.idem_record INCLUDING ALL); SET LOCAL search_path = elsewhere",
        "CREATE TEMP TABLE idem_record (LIKE public.idem_record INCLUDING ALL) ON COMMIT DROP",
    ] {
        let shop = Shop::open(1).await;
        let refused = record_text(&shop.pool, 2 * TEXT_MAX, sql).await;
        let refusal = refused.expect_err(sql).refusal();
        assert!(
            matches!(refusal, Error::TableMoved { .. }),
            "{sql}: {refusal:?}"
        );
        let kept = record_text(&shop.pool, 2 * TEXT_MAX, "SELECT 1").await;
        assert!(!kept.expect("the connection is in order"));
    }
}

#[tokio::test]
async fn a_large_result_is_not_recorded_without_its_claim() {
    for sql in [
        "ROLLBACK; BEGIN",
        "COMMIT; BEGIN",
        "SET LOCAL idem.held = ''",
        "RESET ALL",
    ] {
        let shop = Shop::open(1).await;
        let refused = record_text(&shop.pool, 2 * TEXT_MAX, sql).await;
        let refusal = refused.expect_err(sql).refusal();
        assert!(
            matches!(refusal, Error::TransactionEnded),
            "{sql}: {refusal:?}"
        );
        let records: i64 = sqlx::query_scalar("SELECT count(*) FROM idem_record")
            .fetch_one(&mut shop.database.connect().await)
            .await
            .expect("the table is there");
        assert_eq!(records, 0, "{sql}");
    }
}
