//! Settings of a session, a role or a database change neither the stored nor the read values.

use idem_runtime::store::Store;
use idem_runtime::{Attempt, Error, IdempotencyKey, Namespace, idempotent};
use idem_tests::postgres::Shop;
use idem_tests::postgres::payments::PayError;
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgConnection, PgPoolOptions, PgTransaction};
use sqlx::{AssertSqlSafe, Executor as _, PgPool};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    id: i64,
    text: String,
}

#[idempotent(namespace = "sessions", operation = "n\u{f6}te", record_request)]
async fn note(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    text: &str,
) -> Result<Note, PayError> {
    let id =
        sqlx::query_scalar("INSERT INTO payment (key, amount) VALUES ('note', 1) RETURNING id")
            .fetch_one(&mut **tx)
            .await?;
    let _ = key;
    let text = text.to_owned();
    Ok(Note { id, text })
}

#[idempotent(namespace = "sessions", failures = "record", skip(code))]
async fn decline(
    tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    code: u64,
) -> Result<Note, PayError> {
    let _ = (tx, key);
    Err(PayError::Declined { code })
}

#[idempotent(namespace = "sessions", lease = "5m", skip(in_doubt))]
async fn mail(
    attempt: &Attempt,
    key: IdempotencyKey,
    to: String,
    in_doubt: bool,
) -> Result<String, PayError> {
    let _ = key;
    if in_doubt {
        attempt.outcome_unknown();
        return Err(PayError::BankDown);
    }
    Ok(to)
}

/// The settings that an ordinary role may change and that can affect a statement of the library.
const SETTINGS: &[(&str, &str)] = &[
    ("bytea_output", "escape"),
    ("DateStyle", "'SQL, DMY'"),
    ("DateStyle", "'German, YMD'"),
    ("IntervalStyle", "sql_standard"),
    ("TimeZone", "'Asia/Kathmandu'"),
    ("timezone_abbreviations", "'India'"),
    ("extra_float_digits", "-15"),
    ("standard_conforming_strings", "off"),
    ("backslash_quote", "off"),
    ("escape_string_warning", "on"),
    ("transform_null_equals", "on"),
    ("quote_all_identifiers", "on"),
    ("array_nulls", "off"),
    ("xmlbinary", "hex"),
    ("xmloption", "document"),
    ("default_transaction_isolation", "'repeatable read'"),
    ("default_transaction_isolation", "serializable"),
    ("default_transaction_read_only", "on"),
    ("default_transaction_deferrable", "on"),
    ("search_path", "clocks, pg_catalog, public"),
    ("row_security", "off"),
    ("session_replication_role", "replica"),
    ("plan_cache_mode", "force_custom_plan"),
    ("plan_cache_mode", "force_generic_plan"),
    ("lc_messages", "'C'"),
    ("lc_numeric", "'C'"),
    ("check_function_bodies", "off"),
    ("synchronous_commit", "off"),
    ("default_tablespace", "pg_default"),
    ("statement_timeout", "60000"),
    ("lock_timeout", "60000"),
    ("idle_in_transaction_session_timeout", "60000"),
    ("log_parameter_max_length_on_error", "-1"),
    ("enable_indexscan", "off"),
    ("jit_above_cost", "0"),
    ("client_encoding", "LATIN1"),
];

/// Functions that return a constant time, as test tools put them in front of the server's own.
const CLOCKS: &str = "CREATE SCHEMA clocks; \
     CREATE FUNCTION clocks.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT timestamptz ''epoch'''; \
     CREATE FUNCTION clocks.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT timestamptz ''epoch'''; \
     CREATE FUNCTION clocks.statement_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT clock_timestamp()'";

/// Creates a pool of one connection with this setting; without a statement cache if `capacity` is
/// 0.
fn pool(shop: &Shop, name: &str, value: &str, capacity: usize) -> PgPool {
    let set = format!("SET {name} = {value}");
    PgPoolOptions::new()
        .max_connections(1)
        .after_connect(move |connection, _| {
            let set = set.clone();
            Box::pin(async move { connection.execute(AssertSqlSafe(set)).await.map(drop) })
        })
        .connect_lazy_with(
            shop.database
                .options()
                .clone()
                .statement_cache_capacity(capacity),
        )
}

fn key() -> IdempotencyKey {
    let text = format!("caf\u{e9} {}", Uuid::new_v4());
    text.parse::<IdempotencyKey>().expect("a key").global()
}

/// Returns all settings of a session except the library's own.
/// Returns all settings, but the library's, and those that come with the language of the migration's function
/// when it is first called.
async fn settings(connection: &mut PgConnection) -> String {
    sqlx::query_scalar(
        "SELECT string_agg(name || '=' || setting, ', ' ORDER BY name) FROM pg_settings \
         WHERE name NOT LIKE 'idem.%' AND name NOT LIKE 'plpgsql.%'",
    )
    .persistent(false)
    .fetch_one(connection)
    .await
    .expect("the server answers")
}

/// Runs each step of the library through `set`, and reads the stored values through `plain`.
async fn assert_alike(set: &PgPool, plain: &PgPool, at: &str) {
    let text = "\u{e9}\\x41\\001'\"\u{0}";
    let before = settings(&mut set.acquire().await.expect(at)).await;

    let paid = key();
    let first = note(set, &paid, text).await;
    let first = first.unwrap_or_else(|error| panic!("{at}: {error:?}"));
    assert!(!first.replayed(), "{at}");
    for by in [set, plain] {
        let again = note(by, &paid, text).await;
        let again = again.unwrap_or_else(|error| panic!("{at}: {error:?}"));
        assert!(again.replayed(), "{at}");
        assert_eq!(*again, *first, "{at}");
    }
    let refusal = note(set, &paid, "another").await.expect_err(at).refusal();
    assert!(matches!(refusal, Error::Mismatch(_)), "{at}: {refusal:?}");

    let declined = key();
    for by in [set, set, plain] {
        let failed = decline(by, &declined, 51).await;
        assert!(
            matches!(failed, Err(PayError::Declined { code: 51 })),
            "{at}: {failed:?}"
        );
    }

    let mailed = key();
    for (by, replayed) in [(set, false), (set, true), (plain, true)] {
        let mail = mail(by, mailed.clone(), text.to_owned(), false).await;
        let mail = mail.unwrap_or_else(|error| panic!("{at}: {error:?}"));
        assert_eq!((&**mail, mail.replayed()), (text, replayed), "{at}");
    }
    let lost = key();
    let failed = mail(set, lost.clone(), text.to_owned(), true).await;
    assert!(
        matches!(failed, Err(PayError::BankDown)),
        "{at}: {failed:?}"
    );
    let store = Store::<String, String>::new(Namespace::from_static("sessions"));
    {
        let mut connection = set.acquire().await.expect("a connection");
        let mut bound = store.in_connection(&mut *connection);
        let listed = bound.list_unknown(9, None).await;
        let listed = listed.unwrap_or_else(|error| panic!("{at}: {error:?}"));
        let [unknown] = &*listed else {
            panic!("{at}: {listed:?}")
        };
        assert_eq!(unknown.key(), lost, "{at}");
        let next = bound.list_unknown(9, Some(unknown)).await.expect(at);
        assert!(next.is_empty(), "{at}");
        let found = bound.look_up(&lost).await.expect(at).expect(at);
        assert_eq!(found.attempt_id(), unknown.attempt_id(), "{at}");
        bound.resolve_never_happened(unknown).await.expect(at);
    }

    let mut tx = set.begin().await.expect("a transaction");
    tx.execute("SET TRANSACTION READ WRITE").await.expect(at);
    let inside = settings(&mut tx).await;
    let joined = key();
    for replayed in [false, true] {
        let note = note(&mut tx, &joined, text).await;
        let note = note.unwrap_or_else(|error| panic!("{at}: {error:?}"));
        assert_eq!(note.replayed(), replayed, "{at}");
    }
    assert_eq!(settings(&mut tx).await, inside, "{at}");
    tx.commit().await.expect(at);

    plain
        .execute("UPDATE idem_record SET expires_at = clock_timestamp() - interval '1 s' WHERE status <> 3")
        .await
        .expect("nobody holds it");
    {
        let mut connection = set.acquire().await.expect("a connection");
        let mut bound = store.in_connection(&mut *connection);
        let purged = bound.purge_expired(2).await;
        assert_eq!(
            purged.unwrap_or_else(|error| panic!("{at}: {error:?}")),
            2,
            "{at}"
        );
    }
    let purged = idem_runtime::PurgeWorker::new(set.clone()).run_once().await;
    assert_eq!(
        purged
            .unwrap_or_else(|error| panic!("{at}: {error:?}"))
            .rows,
        3,
        "{at}"
    );
    let after = settings(&mut set.acquire().await.expect("a connection")).await;
    assert_eq!(after, before, "{at}");
}

#[tokio::test]
async fn what_a_session_has_set_changes_neither_what_is_stored_nor_what_is_read() {
    let shop = Shop::open(1).await;
    shop.run(CLOCKS).await;
    for (name, value) in SETTINGS {
        for capacity in [0, 100] {
            let set = pool(&shop, name, value, capacity);
            let at = format!("{name} = {value}, {capacity} statements kept");
            assert_alike(&set, &shop.pool, &at).await;
            set.close().await;
        }
    }
}

#[tokio::test]
async fn what_a_role_or_a_database_has_set_does_not_either() {
    let shop = Shop::open(1).await;
    let plain = shop.pool.clone();
    // Created before any setting is changed.
    drop(plain.acquire().await.expect("a connection"));
    let name = shop.database.name();
    for whose in [
        format!(r#"DATABASE "{name}""#),
        format!(r#"ROLE CURRENT_USER IN DATABASE "{name}""#),
    ] {
        for set in [
            "bytea_output = 'escape'",
            "default_transaction_read_only = on",
            "default_transaction_isolation = 'serializable'",
            "standard_conforming_strings = off",
            "DateStyle = 'SQL, DMY'",
        ] {
            let alter_role = format!("ALTER {whose} SET {set}");
            plain.execute(AssertSqlSafe(alter_role)).await.expect(set);
        }
        for capacity in [0, 100] {
            let options = shop.database.options().clone();
            let set = shop.pool_by(1, options.statement_cache_capacity(capacity));
            let at = format!("{whose}, {capacity} statements kept");
            assert_alike(&set, &plain, &at).await;
            set.close().await;
        }
        let alter_role = format!("ALTER {whose} RESET ALL");
        plain
            .execute(AssertSqlSafe(alter_role))
            .await
            .expect("reset");
    }
}
