use idem_ui_tests::*;

use idem_runtime::Operation;
use idem_runtime::policy::RecordFailures;

const PAY: Operation<RecordFailures> = Operation::new("payments", "pay").record_failures();

async fn pay(pool: &PgPool, key: &IdempotencyKey) -> ApiResult<()> {
    PAY.run(pool, key, &5, async |_| Ok::<_, PaymentError>(1)).await?;
    Ok(())
}

fn main() {}
