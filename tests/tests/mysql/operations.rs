//! Operations whose name is determined by each call.

use idem_runtime::{Error, IdempotencyKey, idempotent};
use idem_tests::mysql::payments::{Paid, Pay, PayError, charge};
use idem_tests::mysql::{Shop, fresh_key};
use sqlx::mysql::MySqlTransaction;

const CMD: Pay = Pay { amount: 1 };

#[idempotent(namespace = "imports", operation = std::any::type_name::<T>())]
async fn import<T>(
    tx: &mut MySqlTransaction<'_>,
    key: &IdempotencyKey,
    cmd: &Pay,
) -> Result<Paid, PayError> {
    charge(tx, key, cmd).await
}

#[tokio::test]
async fn a_type_parameter_in_its_name_makes_an_operation_of_each_type() {
    let shop = Shop::open(2).await;
    let key = fresh_key();
    for replayed in [false, true] {
        let imported = import::<i32>(&shop.pool, &key, &CMD).await;
        assert_eq!(imported.expect("imported").replayed(), replayed);
    }
    let refusal = import::<String>(&shop.pool, &key, &CMD).await;
    let refusal = refusal.expect_err("another operation").refusal();
    assert!(matches!(refusal, Error::Mismatch(_)), "{refusal:?}");
    shop.assert_one_effect(&key).await;
}
