//! Bodies that select another database, in which there is a table of the record's name as well.

use idem_runtime::Error;
use idem_tests::mysql::payments::{Pay, pay, pay_then, pay_whatever};
use idem_tests::mysql::{Shop, fresh_key};

const CMD: Pay = Pay { amount: 1 };

/// The table is known to be fit, so that BEGIN and claim are one message, or not; and the other database has a record of
/// the key, or none.
#[tokio::test]
async fn a_body_that_selects_another_database_is_told_so_and_its_connection_closed() {
    let other = Shop::open(1).await;
    let there = format!("USE `{}`", other.database.name());
    for (known, recorded, swallowed) in [
        (false, false, false),
        (true, false, true),
        (false, true, true),
        (true, true, false),
    ] {
        let at = format!("known: {known}, recorded: {recorded}");
        let shop = Shop::open(1).await;
        for _ in 0..if known { 2 } else { 0 } {
            let paid = pay(&shop.pool, &fresh_key(), &CMD).await;
            paid.expect("fresh");
        }
        let key = fresh_key();
        if recorded {
            pay(&other.pool, &key, &CMD).await.expect("fresh there");
        }
        let refused = if swallowed {
            pay_whatever(&shop.pool, &key, &CMD, &there).await
        } else {
            pay_then(&shop.pool, &key, &CMD, &there).await
        };
        let refusal = refused.expect_err(&at).refusal();
        assert!(
            matches!(refusal, Error::TransactionEnded),
            "{at}: {refusal:?}"
        );
        assert_eq!(shop.effects(&key).await, (0, 0), "{at}");
        let is_at: String = sqlx::query_scalar("SELECT DATABASE()")
            .fetch_one(&shop.pool)
            .await
            .expect("the pool is usable");
        assert_eq!(is_at, shop.database.name(), "{at}");
        let paid = pay(&shop.pool, &key, &CMD).await.expect("fresh");
        assert!(!paid.replayed(), "{at}");
        shop.assert_one_effect(&key).await;
    }
}
