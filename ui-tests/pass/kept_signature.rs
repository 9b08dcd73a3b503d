#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

trait Payments {
    fn create(
        &self,
        tx: &mut PgTransaction<'_>,
        key: &IdempotencyKey,
        amount: i64,
    ) -> impl Future<Output = ApiResult<Payment>> + Send;
}

struct Service;

impl Payments for Service {
    #[idempotent(namespace = "payments", operation = "service.create", skip(self), signature = "keep")]
    async fn create(&self, tx: &mut PgTransaction<'_>, key: &IdempotencyKey, amount: i64) -> ApiResult<Payment> {
        let id = sqlx::query_scalar("SELECT 1").bind(amount).fetch_one(&mut **tx).await?;
        Ok(Payment { id })
    }
}

fn main() {}
