//! Triggers that run after a record is written, whose errors are their own.

use idem_runtime::Error;
use idem_tests::mysql::payments::{Pay, pay};
use idem_tests::mysql::{Shop, fresh_key};

const CMD: Pay = Pay { amount: 1 };

#[tokio::test]
async fn what_a_trigger_misses_is_neither_the_records_table_nor_the_transaction() {
    for event in ["INSERT", "UPDATE"] {
        for does in [
            "INSERT INTO nowhere VALUES (1)",
            "CALL nothing()",
            "SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1305",
        ] {
            let shop = Shop::open(1).await;
            // The table has been found fit.
            let paid = pay(&shop.pool, &fresh_key(), &CMD).await;
            paid.expect("fresh");
            let trigger =
                format!("CREATE TRIGGER follow AFTER {event} ON idem_record FOR EACH ROW {does}");
            shop.run(&trigger).await;
            let key = fresh_key();
            let refusal = pay(&shop.pool, &key, &CMD).await;
            let refusal = refusal.expect_err(&trigger).refusal();
            assert!(
                matches!(refusal, Error::Database(_)),
                "{trigger}: {refusal:?}"
            );
            shop.assert_no_effect(&key).await;
            shop.run("DROP TRIGGER follow").await;
            let paid = pay(&shop.pool, &key, &CMD).await;
            assert!(!paid.expect("the key is fresh").replayed(), "{trigger}");
            shop.assert_one_effect(&key).await;
        }
    }
}
