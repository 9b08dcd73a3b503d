use idem_ui_tests::*;

use idem_runtime::Operation;

const SEND: Operation = Operation::new("mail", "send");

async fn send(pool: &PgPool, key: &IdempotencyKey) -> ApiResult<()> {
    SEND.run(pool, key, &5, async |attempt: Attempt| Ok::<_, PaymentError>(attempt.number())).await?;
    Ok(())
}

fn main() {}
