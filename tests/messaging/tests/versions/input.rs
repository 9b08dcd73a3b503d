//! What is refused before a statement is sent.

use idem_messaging::inbox::{Answer, AsAnswer as _};
use idem_messaging::versions::{Advance, VersionTransaction, Versions};
use sqlx::Transaction;

use crate::contended::Contended;
use crate::guard::{OVERVIEW, offer};

pub(crate) async fn bad_input_is_refused_with_field_and_limit_and_writes_nothing<D: Contended>()
where
    for<'t> Transaction<'t, D>: VersionTransaction,
{
    let db = D::fresh("").await;
    let (long, entity) = ("p".repeat(65), "e".repeat(256));
    let refused = [
        ("", "17", 1, "parameter `projection` is empty"),
        (
            &long,
            "17",
            1,
            "parameter `projection` is 65 characters long; the limit is 64",
        ),
        (OVERVIEW, " ", 1, "parameter `entity` is empty"),
        (
            OVERVIEW,
            &entity,
            1,
            "parameter `entity` is 256 characters long; the limit is 255",
        ),
        (
            OVERVIEW,
            "a\0",
            1,
            "parameter `entity` has the control character U+0000 at character 1",
        ),
        (
            OVERVIEW,
            "17",
            0,
            "version 0 is less than 1, with which this projection counts; nothing was written; \
             `Versions::counted_from` sets another first version",
        ),
        (
            OVERVIEW,
            "17",
            i64::MIN,
            "version -9223372036854775808 is less than 1, with which this projection counts; nothing was written; \
             `Versions::counted_from` sets another first version",
        ),
    ];
    let mut tx = db.pool.begin_with(D::BEGIN).await.expect("a transaction");
    for (projection, entity, version, text) in refused {
        let answer = Versions::new()
            .advance(&mut tx, projection, entity, version)
            .await;
        let error = answer.expect_err(text);
        assert_eq!(error.to_string(), text);
        assert!(matches!(error.as_answer(), Answer::Refused { .. }));
    }
    tx.commit().await.expect("it commits");
    let first = offer(&db, Versions::new(), OVERVIEW, "17", 1).await;
    assert_eq!(first, Advance::Applied);
}
