//! What an append has the database do besides writing: counted in the plan of its statement, and in what the table has it
//! prepare anew with each INSERT.

use idem_messaging::outbox::Outbox;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::subject::{Postgres, Subject as _, event};

#[tokio::test]
async fn an_append_is_a_plan_of_one_node_under_its_insert() {
    let (subject, outbox) = (Postgres::fresh().await, Outbox::new());
    let mut tx = subject.pool().begin().await.expect("a transaction");
    tx.execute("CREATE TABLE effect (id bigint)")
        .await
        .expect("an effect");
    outbox.append(&mut tx, event("a")).await.expect("appended");
    let prepared = "SELECT name, cardinality(parameter_types)::bigint FROM pg_prepared_statements \
                    WHERE statement LIKE 'INSERT INTO idem_outbox%'";
    let found: Vec<(String, i64)> = sqlx::query_as(prepared)
        .fetch_all(&mut *tx)
        .await
        .expect("an answer");
    let [(name, parameters)] = &found[..] else {
        panic!("not one statement: {found:?}");
    };
    let values = vec!["'t'"; usize::try_from(*parameters).expect("few")];
    let explain = format!("EXPLAIN (COSTS OFF) EXECUTE {name} ({})", values.join(", "));
    let lines: Vec<String> = sqlx::query_scalar(AssertSqlSafe(explain))
        .persistent(false)
        .fetch_all(&mut *tx)
        .await
        .expect("a plan");
    let nodes: Vec<_> = lines.iter().filter(|line| line.contains("->")).collect();
    assert!(
        nodes.len() == 1 && nodes[0].trim() == "->  Result",
        "{lines:?}"
    );
}

/// PostgreSQL keeps a CHECK, and the expression of a generated column or of an index, as text or tree that each statement
/// reads and prepares anew. A column that may not be null costs nothing.
#[tokio::test]
async fn an_append_prepares_no_check_and_no_expression() {
    let subject = Postgres::fresh().await;
    let prepared = "SELECT (SELECT count(*) FROM pg_constraint WHERE conrelid = o AND contype = 'c') \
         + (SELECT count(*) FROM pg_attribute WHERE attrelid = o AND attgenerated <> '') \
         + (SELECT count(*) FROM pg_index WHERE indrelid = o AND indexprs IS NOT NULL) \
         + (SELECT count(*) FROM pg_trigger WHERE tgrelid = o) \
         FROM (SELECT 'idem_outbox'::regclass) t(o)";
    assert_eq!(subject.number(prepared).await, 0);
    let written = "SELECT count(*) FROM pg_index WHERE indrelid = 'idem_outbox'::regclass";
    assert_eq!(subject.number(written).await, 7, "indexes");
}
