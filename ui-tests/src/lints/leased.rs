//! Leased handlers.

use std::sync::Arc;

use super::Refused;
use crate::{ApiResult, Attempt, Clock, CreatePayment, IdempotencyKey, Payment, idempotent};

#[idempotent(namespace = "mail", lease = "5m", on_lapse = "retry")]
async fn by_reference(
    attempt: &Attempt,
    key: &IdempotencyKey,
    cmd: CreatePayment,
) -> ApiResult<Payment> {
    attempt.heartbeat().await?;
    if key.as_str() == cmd.payee {
        return Ok(Payment { id: 0 });
    }
    Ok(Payment { id: cmd.amount })
}

#[idempotent(namespace = "mail", lease = "5m", skip(_clock))]
async fn unused_parameters(
    _: &Attempt,
    _key: Option<&IdempotencyKey>,
    _cmd: CreatePayment,
    _clock: Clock,
) -> ApiResult<()> {
    Ok(())
}

#[idempotent(namespace = "mail", lease = "5m", key = natural(cmd.payee))]
async fn natural(attempt: &Attempt, mut cmd: CreatePayment) -> ApiResult<i64> {
    cmd.amount += i64::from(attempt.number());
    Ok(cmd.amount)
}

struct Mailer {
    fee: i64,
}

impl Mailer {
    #[idempotent(
        namespace = "mail",
        operation = "mailer.shared",
        lease = "5m",
        skip(self)
    )]
    async fn shared(self: Arc<Self>, attempt: &Attempt, key: IdempotencyKey) -> ApiResult<i64> {
        attempt.heartbeat().await?;
        drop(key);
        Ok(self.fee)
    }
}

/// Records failures.
///
/// # Errors
///
/// Returns [`Refused`], or a refusal of the library.
#[inline]
#[idempotent(namespace = "mail", lease = "5m", failures = "record")]
pub async fn recording(attempt: &Attempt, key: &IdempotencyKey) -> Result<i64, Refused> {
    attempt.outcome_unknown();
    Err(Refused::Gone)
}
