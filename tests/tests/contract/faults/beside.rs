//! Triggers that run beside the writes of a record: reported with the line that removes them, and not refused.

use idem_runtime::error::SchemaFinding;
use idem_runtime::schema;
use idem_runtime::store::{AsSession, Migrate};
use idem_tests::sqlite::{Journal, Sqlite};
use idem_tests::{mysql, postgres};
use sqlx::{AssertSqlSafe, Connection, Executor};

async fn run<C: Connection>(conn: &mut C, statements: &str)
where
    for<'c> &'c mut C: Executor<'c, Database = C::Database>,
{
    conn.execute(sqlx::raw_sql(AssertSqlSafe(statements.to_owned())))
        .await
        .unwrap_or_else(|error| panic!("{statements}: {error}"));
}

/// Runs `made`, and expects the trigger, and no other finding, until its own line has removed it.
async fn expect_reported<C>(conn: &mut C, made: &str, name: &str)
where
    C: Connection + AsSession<Session: Migrate>,
    for<'c> &'c mut C: Executor<'c, Database = C::Database>,
{
    run(conn, made).await;
    let found = schema::verify(conn).await.expect("it is not refused");
    let [SchemaFinding::Trigger { trigger, fix, .. }] = &*found else {
        panic!("{made}: {found:?}")
    };
    assert!(trigger.ends_with(name), "{made}: {trigger}");
    assert!(found[0].to_string().contains(fix.as_str()), "{}", found[0]);
    run(conn, fix).await;
    assert_eq!(schema::verify(conn).await.expect("fit"), [], "{made}");
}

/// On PostgreSQL: a function that does nothing, for triggers.
const NOTHING: &str = "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS \
     $$ BEGIN RETURN NULL; END $$";

#[tokio::test]
async fn a_trigger_beside_the_writes_is_reported_on_postgres() {
    let database = postgres::Database::fresh().await;
    let mut conn = database.connect().await;
    schema::create_if_missing(&mut conn).await.unwrap();
    run(&mut conn, NOTHING).await;
    for trigger in [
        "TRIGGER beside AFTER INSERT ON idem_record FOR EACH ROW",
        "TRIGGER beside AFTER UPDATE ON idem_record",
        "TRIGGER beside AFTER DELETE ON idem_record FOR EACH STATEMENT",
        "TRIGGER beside BEFORE INSERT ON idem_record FOR EACH STATEMENT",
        "TRIGGER beside AFTER TRUNCATE ON idem_record",
        "CONSTRAINT TRIGGER beside AFTER INSERT ON idem_record DEFERRABLE INITIALLY DEFERRED FOR EACH ROW",
    ] {
        let made = format!("CREATE {trigger} EXECUTE FUNCTION nothing()");
        expect_reported(&mut conn, &made, "beside").await;
    }
    let odd = "CREATE TRIGGER \"Be side\" AFTER INSERT ON idem_record EXECUTE FUNCTION nothing()";
    expect_reported(&mut conn, odd, "\"Be side\"").await;
}

#[tokio::test]
async fn a_trigger_beside_the_writes_of_a_partition_is_reported_on_postgres() {
    let database = postgres::Database::fresh().await;
    let mut conn = database.connect().await;
    schema::create_if_missing(&mut conn).await.unwrap();
    run(
        &mut conn,
        "ALTER TABLE idem_record RENAME TO unparted; ALTER INDEX idem_record_pkey RENAME TO unparted_pkey; \
         CREATE TABLE idem_record (LIKE unparted INCLUDING DEFAULTS, PRIMARY KEY (namespace, scope, key)) \
         PARTITION BY HASH (namespace, scope, key); \
         CREATE TABLE part PARTITION OF idem_record FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
    )
    .await;
    run(&mut conn, NOTHING).await;
    let made = "CREATE TRIGGER beside AFTER INSERT ON part FOR EACH ROW EXECUTE FUNCTION nothing()";
    expect_reported(&mut conn, made, "beside").await;
}

#[tokio::test]
async fn a_trigger_that_fires_for_nobody_here_is_not_reported_on_postgres() {
    let database = postgres::Database::fresh().await;
    let mut conn = database.connect().await;
    schema::create_if_missing(&mut conn).await.unwrap();
    run(&mut conn, NOTHING).await;
    run(
        &mut conn,
        "CREATE TRIGGER off AFTER INSERT ON idem_record EXECUTE FUNCTION nothing(); \
         ALTER TABLE idem_record DISABLE TRIGGER off; \
         CREATE TRIGGER replica AFTER INSERT ON idem_record EXECUTE FUNCTION nothing(); \
         ALTER TABLE idem_record ENABLE REPLICA TRIGGER replica; \
         CREATE TABLE tenant (name varchar(64) COLLATE \"C\" PRIMARY KEY); \
         ALTER TABLE idem_record ADD FOREIGN KEY (namespace) REFERENCES tenant",
    )
    .await;
    assert_eq!(schema::verify(&mut conn).await.unwrap(), []);
}

#[tokio::test]
async fn a_trigger_beside_the_writes_is_reported_on_mysql() {
    let database = mysql::Database::fresh().await;
    let mut conn = database.connect().await;
    schema::create_if_missing(&mut conn).await.unwrap();
    for name in ["beside", "be`side"] {
        for event in ["INSERT", "UPDATE", "DELETE"] {
            let quoted = name.replace('`', "``");
            let made = format!(
                "CREATE TRIGGER `{quoted}` AFTER {event} ON idem_record FOR EACH ROW SET @beside = 1"
            );
            expect_reported(&mut conn, &made, name).await;
        }
    }
}

#[tokio::test]
async fn a_trigger_beside_the_writes_is_reported_on_sqlite() {
    let database = Sqlite::fresh(Journal::Wal);
    let mut conn = database.connect().await;
    schema::create_if_missing(&mut conn).await.unwrap();
    run(&mut conn, "CREATE TABLE audit (n INTEGER)").await;
    for kind in ["TRIGGER", "TEMP TRIGGER"] {
        for event in ["INSERT", "UPDATE OF status", "DELETE"] {
            for name in ["beside", "be\"side"] {
                let quoted = name.replace('"', "\"\"");
                let made = format!(
                    "CREATE {kind} \"{quoted}\" AFTER {event} ON main.idem_record \
                     BEGIN INSERT INTO audit VALUES (1); END"
                );
                // A trigger of the table's own file does not name the file of its table.
                let made = match kind {
                    "TRIGGER" => made.replace("main.", ""),
                    _ => made,
                };
                expect_reported(&mut conn, &made, name).await;
            }
        }
    }
}
