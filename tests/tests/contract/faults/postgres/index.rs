//! Unique indexes that PostgreSQL does not keep, or does not compare by, as an arbiter must.

use super::{expect_no_arbiter, partitioned};

#[tokio::test]
async fn an_index_that_is_not_valid_or_not_ready_is_no_arbiter() {
    for flag in ["indisvalid", "indisready"] {
        expect_no_arbiter(&format!(
            "UPDATE pg_index SET {flag} = false WHERE indexrelid = 'idem_record_pkey'::regclass"
        ))
        .await;
    }
}

/// The index of the whole is valid as soon as each partition has its own.
#[tokio::test]
async fn an_index_that_a_partition_lacks_is_no_arbiter() {
    let made = partitioned("TABLE second").replace("INCLUDING ALL", "INCLUDING DEFAULTS");
    expect_no_arbiter(&format!(
        "{made}; CREATE UNIQUE INDEX ON ONLY idem_record (namespace, scope, key)"
    ))
    .await;
}

#[tokio::test]
async fn an_index_whose_equality_is_the_users_own_is_no_arbiter() {
    expect_no_arbiter(
        "CREATE FUNCTION caseless(text, text) RETURNS integer IMMUTABLE LANGUAGE sql AS
             'SELECT pg_catalog.bttextcmp(lower($1), lower($2))';
         CREATE OPERATOR CLASS caseless FOR TYPE text USING btree AS
             OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
             FUNCTION 1 caseless(text, text);
         ALTER TABLE idem_record DROP CONSTRAINT idem_record_pkey;
         CREATE UNIQUE INDEX ON idem_record (namespace, scope, key caseless)",
    )
    .await;
}
