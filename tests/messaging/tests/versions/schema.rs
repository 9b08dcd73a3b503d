//! The check of the table.

use idem_messaging::inbox::{Answer, AsAnswer as _};
use idem_messaging::versions::{VersionDatabase, VersionError, schema};
use idem_tests::dialect::Dialect;
use sqlx::{MySql, Postgres, Sqlite};

use crate::databases::{Db, Fresh};

/// Tables that let a version through twice, and what is said of them.
pub(crate) trait Unfit: Fresh + VersionDatabase + Dialect {
    const CASES: &'static [(&'static str, &'static str)];
}

macro_rules! unfit {
    ($database:ty, $cases:expr) => {
        impl Unfit for $database {
            const CASES: &'static [(&'static str, &'static str)] = $cases;
        }
    };
}

unfit!(
    Postgres,
    &[
        (
            "ALTER TABLE idem_version DROP CONSTRAINT idem_version_pkey",
            "unique index",
        ),
        (
            "CREATE UNIQUE INDEX part ON idem_version (projection, entity) WHERE version > 1",
            "unique index",
        ),
        (
            "CREATE UNIQUE INDEX more ON idem_version (projection, entity, version)",
            "unique index",
        ),
        (
            "CREATE COLLATION blurred (provider = icu, locale = 'und-u-ks-level1', deterministic = false); \
             CREATE UNIQUE INDEX blurred ON idem_version (projection, entity COLLATE blurred)",
            "unique index",
        ),
        (
            "CREATE UNIQUE INDEX fit ON idem_version (entity, projection); \
             ALTER TABLE idem_version ALTER found TYPE integer",
            "column found",
        ),
        (
            "ALTER TABLE idem_version ALTER found TYPE bigint; ALTER TABLE idem_version SET UNLOGGED",
            "logged",
        ),
        ("DROP TABLE idem_version", "no such table"),
    ]
);

unfit!(
    MySql,
    &[
        (
            "ALTER TABLE idem_version ADD UNIQUE KEY alone (entity)",
            "unique index alone",
        ),
        (
            "ALTER TABLE idem_version DROP KEY alone, DROP PRIMARY KEY, ADD PRIMARY KEY (projection, entity(4))",
            "unique index on exactly",
        ),
        (
            "ALTER TABLE idem_version DROP PRIMARY KEY, ADD PRIMARY KEY (projection, entity), \
             MODIFY projection VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL",
            "column projection",
        ),
        (
            "ALTER TABLE idem_version MODIFY projection VARBINARY(256) NOT NULL, MODIFY version INT NOT NULL",
            "column version",
        ),
        (
            "ALTER TABLE idem_version MODIFY version BIGINT NOT NULL, MODIFY entity VARBINARY(255) NOT NULL, ENGINE = MyISAM",
            "InnoDB",
        ),
        ("DROP TABLE idem_version", "no such table"),
    ]
);

const SQLITE: [&str; 4] = [
    "DROP TABLE idem_version; \
     CREATE TABLE idem_version (version INTEGER, found INTEGER, projection TEXT, entity TEXT)",
    "CREATE UNIQUE INDEX blurred ON idem_version (projection, entity COLLATE NOCASE)",
    "CREATE UNIQUE INDEX more ON idem_version (projection, entity, version)",
    "CREATE UNIQUE INDEX part ON idem_version (projection, entity) WHERE version > 1",
];

unfit!(
    Sqlite,
    &[
        (SQLITE[0], "unique index"),
        (SQLITE[1], "unique index"),
        (SQLITE[2], "unique index"),
        (SQLITE[3], "unique index"),
        (
            "DROP TABLE idem_version; CREATE TABLE idem_version (version INTEGER, found TEXT, projection TEXT, entity TEXT, \
             PRIMARY KEY (projection, entity))",
            "column found",
        ),
        (
            "DROP TABLE idem_version; CREATE TABLE idem_version (version INTEGER, found INTEGER, projection TEXT, entity TEXT, \
             PRIMARY KEY (projection, entity) ON CONFLICT IGNORE)",
            "ON CONFLICT",
        ),
        ("DROP TABLE idem_version", "no such table"),
    ]
);

async fn verified<D: Unfit>(db: &Db<D>) -> Result<(), VersionError> {
    let mut conn = db.pool.acquire().await.expect("a connection");
    schema::verify(&mut *conn).await
}

pub(crate) async fn the_migration_is_fit_and_a_table_that_lets_a_version_through_twice_is_not<
    D: Unfit,
>() {
    let db = D::fresh("").await;
    verified(&db).await.expect("the migration is fit");
    for (change, text) in D::CASES {
        D::run(&db.pool, change).await;
        let error = verified(&db).await.expect_err(change);
        assert!(matches!(error.as_answer(), Answer::Unavailable { .. }));
        let VersionError::Schema { findings } = error else {
            panic!("not an answer: {error}");
        };
        let found = findings.iter().any(|finding| finding.contains(text));
        assert!(found, "{change}: {findings:?}");
    }
}

pub(crate) async fn a_missing_table_is_created_and_one_that_is_there_stays<D: Unfit + Dialect>() {
    let db = D::fresh("").await;
    D::run(&db.pool, "DROP TABLE idem_version").await;
    let create = async || {
        let mut conn = db.pool.acquire().await.expect("a connection");
        schema::create_if_missing(&mut *conn).await
    };
    let (one, other) = tokio::join!(create(), create());
    one.and(other).expect("created");
    verified(&db).await.expect("it is fit");
    D::run(&db.pool, "ALTER TABLE idem_version ADD COLUMN kept INTEGER").await;
    create().await.expect("it is there");
    let rows = D::number(&db.pool, "SELECT count(kept) FROM idem_version").await;
    assert_eq!(rows, 0, "it is the same table");
}
