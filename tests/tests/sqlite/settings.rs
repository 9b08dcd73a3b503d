//! The library stores and reads the same under any connection setting, and leaves the setting
//! unchanged.

use idem_runtime::{Error, IdempotencyKey, PurgeWorker, idempotent};
use idem_tests::settings::{expect_now, keep_leases, store};
use idem_tests::sqlite::Sqlite;
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions, SqliteTransaction};
use sqlx::{AssertSqlSafe, Executor as _};

use crate::payments::{JOURNALS, Paid, PayError, count, create_tables, insert, key, pay, refused};

/// A setting, and the pragma that shows whether it is unchanged.
const SETTINGS: [(&str, &str); 25] = [
    ("PRAGMA case_sensitive_like = ON", "user_version"),
    ("PRAGMA count_changes = ON", "count_changes"),
    ("PRAGMA short_column_names = OFF", "short_column_names"),
    (
        "PRAGMA short_column_names = OFF; PRAGMA full_column_names = ON",
        "full_column_names",
    ),
    (
        "PRAGMA empty_result_callbacks = ON",
        "empty_result_callbacks",
    ),
    ("PRAGMA recursive_triggers = ON", "recursive_triggers"),
    ("PRAGMA defer_foreign_keys = ON", "user_version"),
    ("PRAGMA foreign_keys = OFF", "foreign_keys"),
    (
        "PRAGMA ignore_check_constraints = ON",
        "ignore_check_constraints",
    ),
    ("PRAGMA cell_size_check = ON", "cell_size_check"),
    ("PRAGMA writable_schema = ON", "writable_schema"),
    ("PRAGMA locking_mode = EXCLUSIVE", "locking_mode"),
    (
        "PRAGMA reverse_unordered_selects = ON",
        "reverse_unordered_selects",
    ),
    ("PRAGMA legacy_alter_table = ON", "legacy_alter_table"),
    ("PRAGMA trusted_schema = OFF", "trusted_schema"),
    ("PRAGMA automatic_index = OFF", "automatic_index"),
    ("PRAGMA secure_delete = ON", "secure_delete"),
    ("PRAGMA synchronous = OFF", "synchronous"),
    ("PRAGMA synchronous = NORMAL", "synchronous"),
    ("PRAGMA busy_timeout = 0", "busy_timeout"),
    ("PRAGMA temp_store = MEMORY", "temp_store"),
    ("PRAGMA cache_size = 1", "cache_size"),
    ("CREATE TEMP TABLE idem_record (key TEXT)", "user_version"),
    (
        "CREATE TEMP VIEW idem_record AS SELECT 1 AS key",
        "user_version",
    ),
    (
        "ATTACH ':memory:' AS beside; CREATE TABLE beside.idem_record (key)",
        "user_version",
    ),
];

#[idempotent(namespace = "payments", operation = "pay", failures = "record")]
async fn decline(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    cents: i64,
) -> Result<Paid, PayError> {
    insert(tx, key, cents).await?;
    Err(PayError::Declined(7))
}

async fn shown(pool: &SqlitePool, pragma: &str) -> String {
    let row = pool
        .fetch_optional(AssertSqlSafe(format!("PRAGMA {pragma}")))
        .await
        .unwrap_or_else(|error| panic!("{pragma}: {error}"));
    row.map_or_else(String::new, |row| {
        sqlx::Row::try_get_unchecked::<String, _>(&row, 0).expect("a value")
    })
}

#[tokio::test]
async fn whatever_a_connection_is_set_to_changes_neither_what_is_stored_nor_what_is_read() {
    for journal in JOURNALS {
        for (setting, pragma) in SETTINGS {
            let db = Sqlite::fresh(journal);
            let pool = db.pool(1);
            create_tables(&pool).await;
            pool.close().await;
            course(&db, setting, pragma).await;
        }
    }
}

#[tokio::test]
async fn whatever_encoding_a_file_has_changes_neither_what_is_stored_nor_what_is_read() {
    for encoding in ["UTF-16le", "UTF-16be", "UTF-8"] {
        let db = Sqlite::fresh(JOURNALS[0]);
        let options = db
            .options()
            .clone()
            .pragma("encoding", format!("'{encoding}'"));
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .connect_lazy_with(options);
        create_tables(&pool).await;
        assert_eq!(shown(&pool, "encoding").await, encoding);
        pool.close().await;
        course(&db, "PRAGMA user_version = 0", "encoding").await;
    }
}

async fn course(db: &Sqlite, setting: &'static str, pragma: &str) {
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .after_connect(move |conn, _| {
            Box::pin(async move { conn.execute(sqlx::raw_sql(setting)).await.map(drop) })
        })
        .connect_lazy_with(db.options().clone());
    let before = shown(&pool, pragma).await;
    let (paid, failed) = (key("a'\"é"), key("b"));
    for again in [false, true, true] {
        let answer = pay(&pool, &paid, 5).await;
        let answer = answer.unwrap_or_else(|error| panic!("{setting}: {error:?}"));
        assert_eq!(answer.replayed(), again, "{setting}");
    }
    let other = refused(pay(&pool, &paid, 6).await);
    assert!(matches!(other, Error::Mismatch(_)), "{setting}: {other:?}");
    for _ in 0..2 {
        match decline(&pool, &failed, 5).await {
            Err(PayError::Declined(7)) => {}
            other => panic!("{setting}: {other:?}"),
        }
    }
    if !setting.contains("TEMP") {
        assert_eq!(count(&pool, &paid).await, (1, 1), "{setting}");
        assert_eq!(count(&pool, &failed).await, (0, 1), "{setting}");
    }
    {
        let mut conn = pool.acquire().await.expect(setting);
        keep_leases(&mut *conn, [&key("c"), &key("d é")], setting).await;
        let found = store().in_connection(&mut *conn).get(&paid).await;
        expect_now(found.expect(setting).expect(setting).created_at, setting);
        conn.execute("UPDATE main.idem_record SET expires_at = 1")
            .await
            .expect(setting);
    }
    let purged = PurgeWorker::new(pool.clone()).run_once().await;
    let purged = purged.unwrap_or_else(|error| panic!("{setting}: {error:?}"));
    assert_eq!(purged.rows, 4, "{setting}");
    assert_eq!(shown(&pool, pragma).await, before, "{setting}");
    pool.close().await;
}
