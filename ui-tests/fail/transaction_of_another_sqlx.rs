use idem_ui_tests::*;

use sqlx_0_8::any::Any;
use sqlx_0_8::transaction::Transaction;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut Transaction<'_, Any>, key: &IdempotencyKey) -> ApiResult<Payment> {
    Ok(Payment { id: 1 })
}

fn main() {}
