//! Other tables than the default one.

use idem_runtime::error::{Field, Reason};
use idem_runtime::schema;
use serde_json::json;

use crate::subject::{Subject, expect_replay, key, record, store};

pub(crate) async fn a_record_is_found_in_its_own_table_only<S: Subject>() {
    let subject = S::fresh().await;
    let mut conn = subject.connect().await;
    let stores: Vec<_> = S::OTHER_TABLES
        .iter()
        .map(|table| store().table(table).unwrap())
        .chain([store()])
        .collect();
    for (n, store) in stores.iter().enumerate() {
        record::<S, _, _>(store, &mut conn, &key("k"), &json!(1), &json!(n)).await;
    }
    for (n, store) in stores.iter().enumerate() {
        expect_replay(store, &mut conn, &key("k"), &json!(1), &json!(n)).await;
    }
    assert_eq!(subject.count().await, 1);
    for table in S::OTHER_TABLES {
        schema::verify_table(&mut conn, table).await.unwrap();
    }
}

pub(crate) async fn a_table_that_needs_quoting_is_refused<S: Subject>() {
    let subject = S::fresh().await;
    let mut conn = subject.connect().await;
    let long = "a".repeat(64);
    for bad in [
        "", "a b", "A", "1a", "a.b.c", "a;", "a\"", "a--", "\u{e9}", &long,
    ] {
        let refused = store().table(bad).unwrap_err();
        assert_eq!(refused.field(), &Field::Table, "{bad}");
        assert_eq!(refused.reason(), &Reason::Identifier, "{bad}");
        let error = schema::verify_table(&mut conn, bad).await.unwrap_err();
        assert!(
            matches!(error, idem_runtime::Error::Invalid(_)),
            "{bad}: {error:?}"
        );
        assert!(schema::for_table("", bad).is_err(), "{bad}");
    }
}
