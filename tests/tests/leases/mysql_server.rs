//! Properties of MySQL and MariaDB servers only: a packet limit, and a table definition queried at
//! each claim.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use idem_runtime::error::SchemaFault;
use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::record::Status;
use idem_runtime::store::{Outcome, StoreLease};
use idem_runtime::{Error, ErrorKind, LeasedOperation, Operation};
use idem_tests::mysql::{Database, Options, Server};
use serde_json::{Value, json};
use sqlx::{MySqlConnection, Row as _};

use crate::database::{LeaseDatabase, MySql, mails};
use crate::desk::fresh_key;

#[tokio::test(flavor = "multi_thread")]
async fn a_result_over_the_servers_packet_limit_leaves_the_outcome_unknown() {
    const LIMIT: usize = 64 << 20;
    const NOTE: LeasedOperation = Operation::new("mail", "note")
        .result_limit(LIMIT)
        .lease(Duration::from_mins(5), OnLapse::Retry);
    let server = Server::start(&Options::new().set("max_allowed_packet", "1M"));
    let server = server.expect("a server");
    let database = MySql::furnish(Database::fresh_on(&server).await).await;
    // A payload of one protocol packet, and one of two.
    for length in [1 << 20, 9 << 20] {
        let (key, runs) = (fresh_key(), Arc::new(AtomicU32::new(0)));
        let call = async || {
            let runs = Arc::clone(&runs);
            let pool = database.pool();
            let asked = NOTE.run(&pool, &key, &1, move |_| async move {
                runs.fetch_add(1, Ordering::SeqCst);
                Ok::<_, Error>("x".repeat(length))
            });
            asked.await.expect_err("it cannot be recorded")
        };
        let refusal = call().await;
        assert!(matches!(refusal, Error::Database(_)), "{refusal:?}");
        let said = format!("{refusal:?}");
        assert!(said.contains("max_allowed_packet of 1048576"), "{said}");
        assert_eq!(database.status(&key).await, Some(Status::Unknown));
        assert_eq!(call().await.kind(), ErrorKind::OutcomeUnknown);
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        // In a transaction, everything is rolled back.
        let atomic = Operation::new("mail", "log").result_limit(LIMIT);
        let body = async |_: &mut sqlx::MySqlTransaction<'_>| Ok::<_, Error>("x".repeat(length));
        let other = fresh_key();
        let refusal = atomic.run(&database.pool(), &other, &1, body).await;
        assert!(matches!(refusal, Err(Error::Database(_))), "{refusal:?}");
        assert_eq!(database.status(&other).await, None);
    }
}

async fn claim(conn: &mut MySqlConnection) -> Result<Outcome<StoreLease, Value, Value>, Error> {
    let lease = Lease::new(Duration::from_mins(5), OnLapse::Retry).expect("within bounds");
    let store = mails().typed::<Value, Value>();
    let mut bound = store.in_connection(conn);
    bound
        .begin_leased(&fresh_key(), "note", &json!(1), lease)
        .await
}

/// Returns how many SELECT and SHOW CREATE statements this session has run.
async fn asked(conn: &mut MySqlConnection) -> (u64, u64) {
    let text = "SHOW SESSION STATUS WHERE variable_name IN ('Com_select', 'Com_show_create_table')";
    let rows = sqlx::raw_sql(text).fetch_all(conn).await;
    let rows = rows.expect("the server answers");
    let count = |name: &str| -> u64 {
        let named = |row: &&sqlx::mysql::MySqlRow| row.get_unchecked::<String, _>(0) == name;
        let row = rows.iter().find(named).expect("it is counted");
        let value: String = row.get_unchecked(1);
        value.parse().expect("a number")
    };
    (count("Com_select"), count("Com_show_create_table"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_found_fit_is_not_searched_again_at_each_claim_and_one_that_changed_is() {
    let database = MySql::open().await;
    let mut conn = database.database.connect().await;
    assert!(matches!(claim(&mut conn).await, Ok(Outcome::Fresh(_))));
    let (selects, definitions) = asked(&mut conn).await;
    assert!(matches!(claim(&mut conn).await, Ok(Outcome::Fresh(_))));
    // One look-up, and one check that the table is the verified one, which also asks where it is.
    let expected = (selects + 2, definitions + 1);
    assert_eq!(asked(&mut conn).await, expected);
    database
        .run("ALTER TABLE idem_record DROP PRIMARY KEY, ADD KEY (namespace, scope, `key`)")
        .await;
    let refused = claim(&mut conn).await;
    assert!(
        matches!(refused, Err(Error::Schema(SchemaFault::NoArbiter { .. }))),
        "{refused:?}"
    );
}

/// On a replica an account with the right to write there would write.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_writes_gives_no_lease_to_an_account_that_may_write() {
    const NOTE: LeasedOperation =
        Operation::new("mail", "note").lease(Duration::from_mins(5), OnLapse::Retry);
    let server = Server::start(&Options::new()).expect("a server");
    let database = MySql::furnish(Database::fresh_on(&server).await).await;
    let mut conn = database.database.connect().await;
    let pool = database.pool();
    let note = async || {
        NOTE.run(&pool, &fresh_key(), &1, async |_| Ok::<_, Error>(1))
            .await
    };
    assert!(matches!(claim(&mut conn).await, Ok(Outcome::Fresh(_))));
    note().await.expect("fresh");
    database.run("SET GLOBAL read_only = 1").await;
    let refused = claim(&mut conn).await.map(drop);
    assert!(matches!(refused, Err(Error::ReadOnly(_))), "{refused:?}");
    let refused = note().await.map(drop);
    assert!(matches!(refused, Err(Error::ReadOnly(_))), "{refused:?}");
}
