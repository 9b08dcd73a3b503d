//! Triggers of replicas, and rules: what changes a record on its way into the table.

use idem_runtime::error::SchemaFault;
use idem_runtime::schema;
use sqlx::{AssertSqlSafe, Executor as _};

use super::{FUNCTION, changed, fault};

/// The server runs these, and no others, for a session that applies a replica's changes.
#[tokio::test]
async fn a_trigger_of_replicas_is_refused_where_the_session_is_one() {
    let (_database, mut conn) = changed(&format!(
        "{FUNCTION} CREATE TRIGGER pass BEFORE INSERT ON idem_record FOR EACH ROW EXECUTE FUNCTION pass();
         ALTER TABLE idem_record ENABLE REPLICA TRIGGER pass"
    ))
    .await;
    schema::verify(&mut conn).await.unwrap();
    for (role, refused) in [("replica", true), ("local", false)] {
        let role = format!("SET session_replication_role = {role}; RESET idem.verified");
        conn.execute(sqlx::raw_sql(AssertSqlSafe(role.clone())))
            .await
            .unwrap();
        let found = schema::verify(&mut conn).await;
        assert_eq!(found.is_err(), refused, "{role}: {found:?}");
    }
}

#[tokio::test]
async fn a_rule_is_refused() {
    for rule in [
        "ON INSERT TO idem_record DO INSTEAD NOTHING",
        "ON UPDATE TO idem_record DO ALSO NOTIFY x",
        "ON DELETE TO idem_record DO INSTEAD NOTHING",
    ] {
        match fault(&format!("CREATE RULE quiet AS {rule}")).await {
            SchemaFault::Rule { rule, .. } => assert_eq!(rule, "quiet"),
            other => panic!("{rule}: {other:?}"),
        }
    }
    let (_database, mut conn) = changed(
        "CREATE RULE quiet AS ON INSERT TO idem_record DO INSTEAD NOTHING;
         ALTER TABLE idem_record DISABLE RULE quiet",
    )
    .await;
    schema::verify(&mut conn).await.unwrap();
}
