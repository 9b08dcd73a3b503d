#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

use std::sync::Arc;

async fn may_see(
    key: &IdempotencyKey,
    cmd: &CreatePayment,
    outcome: Result<&Payment, &PaymentError>,
) -> Result<(), PaymentError> {
    let _ = (key.as_str(), &cmd.payee, outcome.is_ok());
    Ok(())
}

async fn refresh(_: &IdempotencyKey, _: &CreatePayment, payment: Payment) -> Result<Payment, PaymentError> {
    Ok(Payment { id: payment.id + 1 })
}

#[idempotent(namespace = "payments", authorize = may_see)]
async fn by_reference(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<Payment> {
    let _ = tx;
    Ok(Payment { id: cmd.amount })
}

#[idempotent(namespace = "payments", authorize = may_see, on_replay = refresh)]
async fn by_value(_: &mut PgTransaction<'_>, key: IdempotencyKey, cmd: CreatePayment) -> Result<Payment, PaymentError> {
    drop(key);
    consume(cmd)
}

#[idempotent(namespace = "payments", on_replay = self::refresh)]
async fn edited(_: &mut SqliteTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> ApiResult<Payment> {
    Ok(Payment { id: cmd.amount })
}

#[idempotent(namespace = "mail", lease = "5m", authorize = may_see, on_replay = refresh)]
async fn leased(attempt: &Attempt, key: &IdempotencyKey, cmd: CreatePayment) -> ApiResult<Payment> {
    attempt.heartbeat().await?;
    consume(cmd)
}

#[idempotent(namespace = "mail", lease = "5m", authorize = may_see)]
async fn leased_by_value(_: &Attempt, key: IdempotencyKey, cmd: CreatePayment) -> ApiResult<Payment> {
    drop(key);
    consume(cmd)
}

fn consume(cmd: CreatePayment) -> Result<Payment, PaymentError> {
    Ok(Payment { id: cmd.amount })
}

struct Desk {
    open: bool,
}

impl Desk {
    async fn may_see(&self, _: &IdempotencyKey, cmd: &i64, outcome: Result<&i64, &Error>) -> Result<(), Error> {
        let _ = (self.open, cmd, outcome.is_err());
        Ok(())
    }

    #[idempotent(namespace = "desk", operation = "desk.pay", skip(self), authorize = Self::may_see)]
    async fn pay(&self, _: &mut PgTransaction<'_>, key: &IdempotencyKey, cents: i64) -> Result<i64, Error> {
        Ok(cents)
    }

    #[idempotent(namespace = "desk", operation = "desk.send", lease = "1m", skip(self), authorize = Self::may_see)]
    async fn send(self: Arc<Self>, _: &Attempt, key: &IdempotencyKey, cents: i64) -> Result<i64, Error> {
        Ok(cents)
    }
}

fn futures(pool: &PgPool, key: &IdempotencyKey, cmd: &CreatePayment, desk: &Desk) {
    let _ = assert_send(by_reference(pool, key, cmd));
    let _ = assert_send(by_value(pool, key.clone(), cmd.clone()));
    let _ = assert_send(leased(pool, key, cmd.clone()));
    let _ = assert_send(desk.pay(pool, key, 5));
}

fn main() {}
