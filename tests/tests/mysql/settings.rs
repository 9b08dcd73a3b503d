//! The library stores and reads the same under any session setting, and leaves the setting
//! unchanged.

use idem_runtime::{Error, PurgeWorker};
use idem_tests::mysql::payments::{Pay, PayError, fail_to_pay, pay};
use idem_tests::mysql::{Shop, fresh_key};
use idem_tests::settings::{expect_now, keep_leases, store};
use sqlx::{AssertSqlSafe, MySqlPool};

/// A setting, and a query that shows whether it is unchanged.
const SETTINGS: [(&str, &str); 36] = [
    ("SET autocommit = 0", "@@autocommit"),
    ("SET SESSION completion_type = 'CHAIN'", "@@completion_type"),
    (
        "SET SESSION completion_type = 'RELEASE'",
        "@@completion_type",
    ),
    ("SET sql_mode = ''", "@@sql_mode"),
    (
        "SET sql_mode = 'TRADITIONAL,NO_ZERO_DATE,NO_ZERO_IN_DATE'",
        "@@sql_mode",
    ),
    (
        "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,EMPTY_STRING_IS_NULL'",
        "@@sql_mode",
    ),
    (
        "SET sql_mode = 'ANSI,PIPES_AS_CONCAT,HIGH_NOT_PRECEDENCE,IGNORE_SPACE'",
        "@@sql_mode",
    ),
    (
        "SET sql_mode = 'NO_TABLE_OPTIONS,NO_KEY_OPTIONS,NO_FIELD_OPTIONS'",
        "@@sql_mode",
    ),
    (
        "SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH,SIMULTANEOUS_ASSIGNMENT'",
        "@@sql_mode",
    ),
    (
        "SET sql_mode = 'NO_UNSIGNED_SUBTRACTION,TIME_ROUND_FRACTIONAL'",
        "@@sql_mode",
    ),
    ("SET sql_mode = 'ORACLE'", "@@sql_mode"),
    ("SET time_zone = '-11:30'", "@@time_zone"),
    ("SET timestamp = 1000000000", "@@timestamp"),
    ("SET timestamp = 2000000000.5", "@@timestamp"),
    ("SET SESSION TRANSACTION READ ONLY", "@@tx_read_only"),
    (
        "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
        "@@tx_isolation",
    ),
    (
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "@@tx_isolation",
    ),
    (
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "@@tx_isolation",
    ),
    ("SET NAMES latin1", "@@character_set_client"),
    ("SET NAMES gbk", "@@character_set_connection"),
    (
        "SET character_set_connection = utf16",
        "@@character_set_connection",
    ),
    ("SET character_set_results = NULL", "1"),
    (
        "SET collation_connection = utf8mb4_bin",
        "@@collation_connection",
    ),
    (
        "SET character_set_results = binary",
        "@@character_set_results",
    ),
    ("SET sql_safe_updates = 1", "@@sql_safe_updates"),
    ("SET sql_select_limit = 0", "@@sql_select_limit"),
    ("SET max_join_size = 1", "@@max_join_size"),
    ("SET max_statement_time = 60", "@@max_statement_time"),
    (
        "SET innodb_lock_wait_timeout = 0",
        "@@innodb_lock_wait_timeout",
    ),
    ("SET sql_auto_is_null = 1", "@@sql_auto_is_null"),
    ("SET group_concat_max_len = 4", "@@group_concat_max_len"),
    ("SET sql_quote_show_create = 0", "@@sql_quote_show_create"),
    (
        "SET unique_checks = 0, check_constraint_checks = 0",
        "@@unique_checks",
    ),
    (
        "SET innodb_snapshot_isolation = 1",
        "@@innodb_snapshot_isolation",
    ),
    (
        "SET default_storage_engine = MyISAM",
        "@@default_storage_engine",
    ),
    (
        "SET lc_time_names = 'de_DE', div_precision_increment = 0",
        "@@lc_time_names",
    ),
];

async fn shown(pool: &MySqlPool, expression: &str) -> String {
    // Also within the setting's limit of rows.
    let statement =
        format!("SELECT CAST({expression} AS CHAR) COLLATE utf8mb4_bin AS shown LIMIT 1");
    let statement = statement.replace(" COLLATE utf8mb4_bin", "");
    let row = sqlx::raw_sql(AssertSqlSafe(statement))
        .fetch_one(pool)
        .await
        .expect("the server answers");
    sqlx::Row::try_get_unchecked::<String, _>(&row, "shown").expect("a text")
}

#[tokio::test]
async fn whatever_a_session_is_set_to_changes_neither_what_is_stored_nor_what_is_read() {
    for (setting, expression) in SETTINGS {
        // A separate table, so that this session verifies it.
        let shop = Shop::open(1).await;
        course(&shop, setting, expression).await;
    }
}

async fn course(shop: &Shop, setting: &'static str, expression: &str) {
    let pool = shop.pool_with(1, setting);
    let before = shown(&pool, expression).await;
    let (paid, failed) = (fresh_key(), fresh_key());
    let command = Pay { amount: 1 };
    for again in [false, true, true] {
        let answer = pay(&pool, &paid, &command).await;
        let answer = answer.unwrap_or_else(|error| panic!("{setting}: {error:?}"));
        assert_eq!(answer.replayed(), again, "{setting}");
    }
    shop.assert_one_effect(&paid).await;
    let other = pay(&pool, &paid, &Pay { amount: 2 }).await;
    let other = other.expect_err(setting).refusal();
    assert!(matches!(other, Error::Mismatch(_)), "{setting}: {other:?}");
    for _ in 0..2 {
        match fail_to_pay(&pool, &failed, &command, Some(7)).await {
            Err(PayError::Declined { code: 7 }) => {}
            other => panic!("{setting}: {other:?}"),
        }
    }
    assert_eq!(shop.effects(&failed).await, (0, 1), "{setting}");
    let (done, lost) = (fresh_key(), fresh_key());
    {
        let mut conn = pool.acquire().await.expect(setting);
        keep_leases(&mut *conn, [&done, &lost], setting).await;
        let found = store().in_connection(&mut *conn).get(&paid).await;
        expect_now(found.expect(setting).expect(setting).created_at, setting);
    }
    shop.run("UPDATE idem_record SET expires_at = 1").await;
    let purged = PurgeWorker::new(pool.clone()).run_once().await;
    let purged = purged.unwrap_or_else(|error| panic!("{setting}: {error:?}"));
    assert_eq!(purged.rows, 4, "{setting}");
    // The pool has one connection: the session is the same, unless the setting ends it.
    assert_eq!(shown(&pool, expression).await, before, "{setting}");
    pool.close().await;
}
