//! What the table, the servers' logs and their lists of sessions show of an operation that encrypts and hashes: nothing.

use idem_runtime::codec::{NameKey, Protection};
use idem_runtime::policy::RecordFailures;
use idem_runtime::{Operation, schema};
use idem_tests::mysql::{self, Options as MySqlOptions, Server};
use idem_tests::patience::in_time;
use idem_tests::postgres::{Cluster, Database, Options};
use sqlx::{AssertSqlSafe, Executor as _, MySqlPool, PgPool};

use crate::desk::{
    CARD, DECLINED, ORDER, PayError, RECEIPT, TENANT, charge, codec, decline, first, in_clear, key,
    pay, receipt, replays, ring, secret,
};
use crate::subject::{Subject, hex};

/// The texts that must not be seen.
const SECRETS: [&str; 5] = [CARD, RECEIPT, DECLINED, TENANT, ORDER];

fn confidential() -> Operation<RecordFailures> {
    let names = NameKey::new(&secret(7));
    pay(codec(Protection::encrypted(ring(1)).hash_names(names))).record_request()
}

/// Asserts that a text shows no secret: as it is, in hexadecimal digits, or by its SHA-256.
#[track_caller]
fn shows_nothing(text: &[u8], of: &str) {
    for secret in SECRETS {
        assert!(!shows(text, secret), "{of} shows `{secret}`");
    }
}

fn shows(text: &[u8], secret: &str) -> bool {
    let digits = hex(secret.as_bytes());
    let forms = [secret.to_owned(), digits.to_uppercase(), digits];
    let contains = |form: &String| text.windows(form.len()).any(|part| part == form.as_bytes());
    forms.iter().any(contains)
}

pub(crate) async fn nothing_confidential_is_in_the_table<S: Subject>() {
    let subject = S::fresh().await;
    let operation = confidential();
    first(&subject, operation, &key(ORDER)).await;
    replays(&subject, operation, &key(ORDER)).await;
    decline(&subject, operation, &key("order-of-ada-2")).await;
    shows_nothing(&subject.dump().await, "the table");
    first(&subject, in_clear(), &key(ORDER)).await;
    assert!(
        shows(&subject.dump().await, RECEIPT),
        "the dump sees what is there"
    );
}

/// Makes every call that writes or reads a record, on a pool.
async fn calls(pool: &PgPool, operation: Operation<RecordFailures>, name: &str) {
    for _ in 0..2 {
        let body = async |_: &mut sqlx::PgTransaction<'_>| Ok::<_, PayError>(receipt());
        let done = operation.run(pool, &key(name), &charge(), body).await;
        done.expect("recorded");
        let body = async |_: &mut sqlx::PgTransaction<'_>| {
            let reason = DECLINED.to_owned();
            Err::<u8, _>(PayError::Declined { reason })
        };
        let failed = key(&format!("{name}-failed"));
        let done = operation.run(pool, &failed, &charge(), body).await;
        done.map(|done| done.replayed()).expect_err("it fails");
    }
}

/// Reads the server's log, once all that was logged before is in it.
async fn log(pool: &PgPool, marker: &str) -> String {
    let raise = format!("DO $$ BEGIN RAISE '{marker}'; END $$");
    let raised = pool.execute(AssertSqlSafe(raise)).await;
    raised.expect_err("it is raised");
    let read = "SELECT pg_read_file(current_setting('data_directory') || '/../server.log')";
    in_time("the log", async {
        loop {
            let log: String = sqlx::query_scalar(read)
                .fetch_one(pool)
                .await
                .expect("read");
            if log.contains(&format!("P0001: {marker}")) {
                return log;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

/// On PostgreSQL: each statement with its values is logged, errors with them too, and the sessions' last statements are
/// listed while they are idle. Fused and not, a replay in this process, and one in another, whose first message raises
/// the record.
#[tokio::test]
async fn neither_the_log_of_postgresql_nor_its_list_of_sessions_shows_anything() {
    let everything = Options::new()
        .set("log_statement", "all")
        .set("log_min_duration_statement", "0")
        .set("log_parameter_max_length", "-1")
        .set("log_parameter_max_length_on_error", "-1")
        .set("log_error_verbosity", "verbose")
        .set("log_min_error_statement", "debug5")
        .set("track_activity_query_size", "65536");
    let cluster = Cluster::start(everything).expect("a server");
    let database = Database::fresh_on(&cluster).await;
    let mut conn = database.connect().await;
    conn.execute(schema::postgres()).await.expect("made");
    let reader = database.pool(1);
    let operation = confidential();
    for (number, fused) in ["on", "off"].into_iter().enumerate() {
        let name = format!("{ORDER}-{number}");
        let options = database.options().clone().options([("idem.fused", fused)]);
        let open = |application: &str| {
            // Among the startup options it makes the pool another one to the library, as in another process.
            let options = options.clone().options([("application_name", application)]);
            sqlx::postgres::PgPoolOptions::new()
                .max_connections(1)
                .connect_lazy_with(options)
        };
        let (one, other) = (open("one"), open("other"));
        calls(&one, operation, &name).await;
        // Another process has not met the keys: on the fused path its first message raises the record.
        calls(&other, operation, "none").await;
        calls(&other, operation, &name).await;
        let sessions: Vec<String> = sqlx::query_scalar(
            "SELECT query FROM pg_stat_activity WHERE application_name IN ('one', 'other')",
        )
        .fetch_all(&reader)
        .await
        .expect("a superuser sees all");
        assert_eq!(sessions.len(), 2);
        shows_nothing(sessions.join("\n").as_bytes(), "pg_stat_activity");
    }
    let logged = log(&reader, "all is logged").await;
    assert!(
        logged.contains("EXECUTE idem_record"),
        "the fused path was taken"
    );
    assert!(
        logged.contains("INSERT INTO idem_record"),
        "and the plain one"
    );
    let raised = logged.matches("ID004: idem: the key has a record").count();
    assert!(
        raised >= 2,
        "the other process raised its replays: {raised}"
    );
    shows_nothing(logged.as_bytes(), "the log");
    // What is in clear is found, so the search is one.
    calls(&database.pool(1), in_clear(), ORDER).await;
    let logged = log(&reader, "the rest is logged").await;
    for secret in [RECEIPT, DECLINED, TENANT, ORDER] {
        assert!(shows(logged.as_bytes(), secret), "{secret}");
    }
}

async fn general_log(pool: &MySqlPool) -> Vec<u8> {
    let rows: Vec<Vec<u8>> =
        sqlx::query_scalar("SELECT CAST(argument AS BINARY) FROM mysql.general_log")
            .fetch_all(pool)
            .await
            .expect("the log is a table");
    rows.join(&b'\n')
}

#[tokio::test]
async fn the_general_log_of_mariadb_shows_nothing() {
    let server = Server::start(&MySqlOptions::new()).expect("a server");
    let database = mysql::Database::fresh_on(&server).await;
    let pool = database.pool(2);
    pool.execute(sqlx::raw_sql(schema::mysql()))
        .await
        .expect("made");
    let on = "SET GLOBAL log_output = 'TABLE', GLOBAL general_log = 1";
    pool.execute(on).await.expect("an administrator");
    let operation = confidential();
    let call = async |operation: Operation<RecordFailures>| {
        for _ in 0..2 {
            let body = async |_: &mut sqlx::MySqlTransaction<'_>| Ok::<_, PayError>(receipt());
            let done = operation.run(&pool, &key(ORDER), &charge(), body).await;
            done.expect("recorded");
            let body = async |_: &mut sqlx::MySqlTransaction<'_>| {
                let reason = DECLINED.to_owned();
                Err::<u8, _>(PayError::Declined { reason })
            };
            let failed = key("order-of-ada-failed");
            let done = operation.run(&pool, &failed, &charge(), body).await;
            done.map(|done| done.replayed()).expect_err("it fails");
        }
    };
    call(operation).await;
    let logged = general_log(&pool).await;
    assert!(logged.windows(18).any(|part| part == b"UPDATE idem_record"));
    shows_nothing(&logged, "the general log");
    call(in_clear()).await;
    let logged = general_log(&pool).await;
    for secret in [RECEIPT, DECLINED, TENANT, ORDER] {
        assert!(shows(&logged, secret), "{secret}");
    }
}
