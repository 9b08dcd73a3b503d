//! What is reported of a fit table, and where it is looked for.

use idem_runtime::error::SchemaFinding;
use idem_runtime::schema;

use super::changed;

#[tokio::test]
async fn unlogged_tables_are_reported_of_the_search_path_and_of_the_records_schema_alone() {
    let (_database, mut conn) = changed(
        "CREATE SCHEMA records; CREATE SCHEMA nowhere;
         CREATE UNLOGGED TABLE quick (n integer PRIMARY KEY);
         CREATE UNLOGGED TABLE records.quick (n integer PRIMARY KEY);
         CREATE UNLOGGED TABLE nowhere.quick (n integer PRIMARY KEY)",
    )
    .await;
    let table = "records.idem_record";
    schema::create_table_if_missing(&mut conn, table)
        .await
        .unwrap();
    let found = schema::verify_table(&mut conn, table).await.unwrap();
    let unlogged = |table: &str| SchemaFinding::Unlogged {
        table: table.to_owned(),
    };
    assert_eq!(found, [unlogged("quick"), unlogged("records.quick")]);
}

#[tokio::test]
async fn row_security_is_reported_to_the_role_that_it_applies_to() {
    let (_database, mut conn) = changed(
        "ALTER TABLE idem_record ENABLE ROW LEVEL SECURITY;
         GRANT SELECT ON idem_record TO pg_monitor; SET ROLE pg_monitor",
    )
    .await;
    let table = "idem_record".to_owned();
    assert_eq!(
        schema::verify(&mut conn).await.unwrap(),
        [SchemaFinding::RowSecurity { table }]
    );
}
