//! Tables in another database than the session's.

use idem_runtime::error::{SchemaFault, SchemaFinding};
use idem_runtime::{Error, schema};
use idem_tests::mysql::Database;

use super::changed;

/// Bodies write beside the records, wherever those are.
#[tokio::test]
async fn what_is_less_safe_beside_records_in_another_database_is_reported() {
    let (records, _conn) = changed("CREATE TABLE beside (n INT) ENGINE = MyISAM").await;
    let elsewhere = Database::fresh().await;
    let mut conn = elsewhere.connect().await;
    let table = format!("{}.idem_record", records.name());
    let found = schema::verify_table(&mut conn, &table).await.unwrap();
    let table = format!("{}.beside", records.name());
    let engine = "MyISAM".to_owned();
    assert_eq!(found, [SchemaFinding::NotTransactional { table, engine }]);
}

/// Their definitions are the same text; a trigger is not in it.
#[tokio::test]
async fn a_fit_table_vouches_for_none_of_another_database() {
    let (unfit, _other) =
        changed("CREATE TRIGGER pass BEFORE INSERT ON idem_record FOR EACH ROW SET @a = 1").await;
    let (_fit, mut conn) = changed("").await;
    schema::verify(&mut conn).await.unwrap();
    let table = format!("{}.idem_record", unfit.name());
    let found = schema::verify_table(&mut conn, &table).await;
    assert!(
        matches!(found, Err(Error::Schema(SchemaFault::Trigger { .. }))),
        "{found:?}"
    );
}
