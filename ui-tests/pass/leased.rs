#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

use std::borrow::Cow;
use std::sync::Arc;

#[idempotent(namespace = "mail", lease = "5m", on_lapse = "retry")]
async fn by_reference(attempt: &Attempt, key: &IdempotencyKey, to: String) -> ApiResult<usize> {
    attempt.heartbeat().await?;
    if to.is_empty() {
        return Ok(key.as_str().len());
    }
    Ok(to.len())
}

#[idempotent(namespace = "mail", lease = "1d", on_lapse = "unknown", on_conflict = "wait", wait = "5s")]
async fn by_value(_: &Attempt, key: IdempotencyKey, mut n: i64) -> Result<Payment, PaymentError> {
    n += i64::try_from(key.as_str().len()).unwrap_or(1);
    Ok(Payment { id: n })
}

#[idempotent(namespace = "mail", lease = "90s", skip(_clock))]
async fn unused(_attempt: &Attempt, _key: &IdempotencyKey, _cmd: CreatePayment, _clock: Clock) -> ApiResult<()> {
    Ok(())
}

#[idempotent(namespace = "mail", lease = "90s", key = natural(cmd.payee, "x"), scope = cmd.payee, fingerprint = (cmd.amount, cmd.payee))]
async fn natural_key(attempt: &idem_ui_tests::Attempt, cmd: CreatePayment) -> ApiResult<String> {
    Ok(attempt.external_key() + &cmd.payee)
}

#[idempotent(namespace = "mail", lease = "90s", key = key.child("mail"))]
async fn child_key(attempt: &Attempt, key: &IdempotencyKey, word: &'static str, more: Cow<'static, str>) -> ApiResult<String> {
    tokio_like(attempt.lost()).await;
    Ok(format!("{word}{more}{}", key.as_str()))
}

#[idempotent(namespace = "mail", lease = "90s")]
async fn optional(attempt: &Attempt, key: Option<&IdempotencyKey>, (a, b): (i64, i64)) -> ApiResult<i64> {
    let _ = key.map(IdempotencyKey::as_str);
    Ok(i64::from(attempt.number()) + a + b)
}

#[idempotent(namespace = "mail", lease = "90s", failures = "record")]
async fn recording(attempt: &Attempt, key: IdempotencyKey) -> Result<i64, Refused> {
    if attempt.is_lost() {
        attempt.outcome_unknown();
        return Err(Refused::Gone);
    }
    Ok(1)
}

async fn generic<T: Serialize + Send + 'static>(pool: &PgPool, key: &IdempotencyKey, value: T) -> ApiResult<i64> {
    #[idempotent(namespace = "mail", lease = "90s")]
    async fn inner<T>(attempt: &Attempt, key: &IdempotencyKey, value: T, other: impl Serialize + Send + 'static) -> ApiResult<i64>
    where
        T: Serialize + Send + 'static,
    {
        drop((value, other));
        Ok(attempt.number().into())
    }
    Ok(*inner(pool, key, value, 1).await?)
}

#[derive(Debug, thiserror::Error, Failure)]
enum Refused {
    #[error("gone")]
    #[failure(permanent)]
    Gone,
    #[error(transparent)]
    Idempotency(#[from] Error),
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}

struct Mailer {
    fee: i64,
}

impl Mailer {
    #[idempotent(namespace = "mail", operation = "mailer.shared", lease = "5m", skip(self))]
    pub(crate) async fn shared(self: Arc<Self>, attempt: &Attempt, key: &IdempotencyKey) -> ApiResult<i64> {
        attempt.heartbeat().await?;
        Ok(self.fee)
    }

    #[idempotent(namespace = "mail", operation = "mailer.by_value", lease = "5m", skip(self))]
    async fn by_value(self, _: &Attempt, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(self.fee)
    }
}

async fn tokio_like<F: Future>(future: F) {
    drop(future);
}

async fn callers(mailer: Arc<Mailer>, pool: &PgPool, lite: &SqlitePool, key: &IdempotencyKey) -> Result<(), PaymentError> {
    let sent = assert_send(by_reference(pool, key, "a".to_owned())).await?;
    assert!(!sent.replayed());
    assert_send(by_reference(lite, key, "a".to_owned())).await?;
    assert_send(by_value(pool, key.clone(), 1)).await?;
    assert_send(optional(lite, Some(key), (1, 2))).await?;
    assert_send(Arc::clone(&mailer).shared(lite, key)).await?;
    assert_send(generic(pool, key, 1)).await?;
    let (pool, key) = (pool.clone(), key.clone());
    let spawned = async move { by_reference(&pool, &key, "a".to_owned()).await };
    is_static(assert_send(spawned)).await?;
    Ok(())
}

/// Accepts only a future that a web server would accept.
fn is_static<F: Future + Send + 'static>(future: F) -> F {
    future
}

fn main() {}
