#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

use std::sync::Arc;

struct Service {
    fee: i64,
}

impl Service {
    #[idempotent(namespace = "payments", operation = "service.by_reference", skip(self))]
    async fn by_reference(&self, tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        sqlx::query("SELECT 1").execute(&mut **tx).await?;
        Ok(self.fee)
    }

    #[idempotent(namespace = "payments", operation = "service.by_mutable_reference", skip(self))]
    async fn by_mutable_reference(&mut self, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        self.fee += 1;
        Ok(self.fee)
    }

    #[idempotent(namespace = "payments", operation = "service.by_value", skip(self))]
    async fn by_value(self, _tx: &mut PgTransaction<'_>, key: IdempotencyKey) -> ApiResult<i64> {
        Ok(self.fee)
    }

    #[idempotent(namespace = "payments", operation = "service.shared", skip(self))]
    pub(crate) async fn shared(self: Arc<Self>, _tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(self.fee)
    }

    #[idempotent(namespace = "payments")]
    async fn without_self(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<i64> {
        Ok(1)
    }
}

async fn callers(service: Arc<Service>, pool: &PgPool, key: &IdempotencyKey) -> Result<(), PaymentError> {
    assert_send(service.by_reference(pool, key)).await?;
    Service::without_self(pool, key).await?;
    assert_send(service.shared(pool, key)).await?;
    Ok(())
}

fn main() {}
