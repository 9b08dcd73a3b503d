//! The tables, and the checks of them.

use idem_client::ledger::{LedgerError, schema};
use idem_tests::dialect::Dialect as _;

use crate::subject::Subject;

async fn verify<S: Subject>(subject: &S) -> Result<(), LedgerError> {
    let mut conn = subject.pool().acquire().await.expect("a connection");
    schema::verify(&mut *conn).await
}

pub(crate) async fn the_tables_are_fit_and_a_fault_of_theirs_is_named<S: Subject>() {
    let subject = S::fresh().await;
    verify(&subject).await.expect("fit");
    S::Db::run(subject.pool(), "DROP TABLE idem_ledger").await;
    let missing = verify(&subject).await.expect_err("unfit");
    assert!(matches!(missing, LedgerError::Schema { .. }));
    assert!(
        missing.to_string().contains("there is no such table"),
        "{missing}"
    );
    // Texts of a kind, and no unique index.
    let loose = "CREATE TABLE idem_ledger (id VARCHAR(64) NOT NULL, idempotency_key VARCHAR(255), state SMALLINT, \
                 body VARCHAR(20), answer_body VARCHAR(20))";
    S::Db::run(subject.pool(), loose).await;
    let Err(LedgerError::Schema { findings }) = verify(&subject).await else {
        panic!("a loose table is unfit");
    };
    let text = findings.join("\n");
    assert!(text.contains("unique index on exactly (id)"), "{text}");
    assert!(text.contains("its column body is not"), "{text}");
    S::Db::run(subject.pool(), "DROP TABLE idem_ledger").await;
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let created = schema::create_if_missing(&mut *conn).await;
    created.expect("the tables");
    schema::verify(&mut *conn).await.expect("fit");
}
