#![deny(warnings)]
#![allow(dead_code)]

use idem_runtime::codec::Codec;
use idem_ui_tests::*;

mod keys {
    use super::Codec;

    pub static PAYMENTS: Codec = Codec::new("PAYMENTS");
}

static MAIL: Codec = Codec::new("MAIL");

#[idempotent(namespace = "payments", codec = keys::PAYMENTS, marker = Create)]
async fn create(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<Payment> {
    Ok(Payment { id: cmd.amount })
}

#[idempotent(namespace = "mail", codec = MAIL, lease = "5m")]
async fn send(attempt: &idem_runtime::Attempt, key: &IdempotencyKey, to: String) -> ApiResult<usize> {
    Ok(attempt.external_key().len() + to.len())
}

fn callers(pool: &PgPool, key: &IdempotencyKey, cmd: &CreatePayment) {
    drop(assert_send(create(pool, key, cmd)));
    drop(assert_send(send(pool, key, String::new())));
}

fn main() {}
