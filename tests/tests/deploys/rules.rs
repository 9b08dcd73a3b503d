//! A later version of the fingerprint, which one of two builds knows.

use idem_runtime::fingerprint::{Fingerprint, know_version_2};
use sqlx::{AssertSqlSafe, Connection as _, MySqlConnection, PgConnection, SqliteConnection};

use crate::node::{answers, runs};

/// Gives every record the fingerprint of version 2, as a later build would have written it.
async fn rewrite(url: &str, fingerprint: &Fingerprint) {
    let set = |value: String| {
        AssertSqlSafe(format!(
            "UPDATE idem_record SET fingerprint_version = 2, fingerprint = {value}"
        ))
    };
    if url.starts_with("sqlite:") {
        let mut conn = SqliteConnection::connect(url).await.expect("the file");
        sqlx::query(set(format!("x'{fingerprint}'")))
            .execute(&mut conn)
            .await
            .expect("written");
    } else if url.starts_with("mysql:") {
        let mut conn = MySqlConnection::connect(url).await.expect("the server");
        sqlx::query(set(format!("x'{fingerprint}'")))
            .execute(&mut conn)
            .await
            .expect("written");
    } else {
        let mut conn = PgConnection::connect(url).await.expect("the server");
        let value = format!("decode('{fingerprint}', 'hex')");
        sqlx::query(set(value))
            .execute(&mut conn)
            .await
            .expect("written");
    }
}

/// The rules of version 2 leave the sign of a number out.
pub(crate) async fn a_record_is_compared_by_the_rules_of_its_own_fingerprint(url: &str) {
    let first = runs("old", url, "pool", "k", 12).await;
    for build in ["old", "knowing"] {
        let other = answers(build, url, "pool", "k", -12).await;
        assert!(
            other.starts_with("refused final 422 Mismatch"),
            "{build}: {other}"
        );
        assert_eq!(
            answers(build, url, "pool", "k", 12).await,
            first.replace("first", "replayed")
        );
    }
    know_version_2();
    let fingerprint = Fingerprint::compute(2, "shop", "pay", br#"{"amount":12}"#);
    rewrite(url, &fingerprint.expect("it is known here")).await;
    for amount in [12, -12] {
        let again = answers("knowing", url, "pool", "k", amount).await;
        assert_eq!(again, first.replace("first", "replayed"));
        let refused = answers("old", url, "pool", "k", amount).await;
        assert!(
            refused.starts_with("refused final 500 UnknownState"),
            "{refused}"
        );
        assert!(refused.contains("fingerprint version is 2"), "{refused}");
    }
    let other = answers("knowing", url, "pool", "k", 13).await;
    assert!(other.starts_with("refused final 422 Mismatch"), "{other}");
}
