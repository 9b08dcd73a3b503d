#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

macro_rules! handler {
    ($name:ident, $namespace:literal, $retention:expr, $tx:ty, $key:ty, $cmd:ident: $request:ty, $result:ty, $body:block) => {
        #[idempotent(namespace = $namespace, retention = $retention)]
        async fn $name(_tx: $tx, key: $key, $cmd: $request) -> $result $body
    };
}

handler!(create, "payments", "7d", &mut PgTransaction<'_>, &IdempotencyKey, cmd: &CreatePayment, Result<i64, PaymentError>, {
    Ok(cmd.amount)
});

macro_rules! keyed {
    ($name:ident, $transaction:ident, $key:expr) => {
        #[idempotent(namespace = "payments", key = $key)]
        async fn $name($transaction: &mut PgTransaction<'_>, cmd: &CreatePayment) -> ApiResult<i64> {
            let _ = $transaction;
            Ok(cmd.amount)
        }
    };
}

keyed!(pay, tx, "a".to_owned());

async fn callers(pool: &PgPool, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<i64> {
    Ok(create(pool, key, cmd).await?.into_inner() + pay(pool, cmd).await?.into_inner())
}

fn main() {}
