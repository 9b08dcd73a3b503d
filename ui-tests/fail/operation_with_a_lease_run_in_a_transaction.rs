use idem_ui_tests::*;

use core::time::Duration;
use idem_runtime::{LeasedOperation, Operation, policy::OnLapse};

const SEND: LeasedOperation = Operation::new("mail", "send").lease(Duration::from_secs(60), OnLapse::Retry);

async fn send(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> ApiResult<()> {
    SEND.run(tx, key, &5, async |_| Ok::<_, PaymentError>(1)).await?;
    Ok(())
}

fn main() {}
