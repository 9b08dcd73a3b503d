#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(
    #[allow(unused_variables)] tx: &mut PgTransaction<'_>,
    key: &IdempotencyKey,
    #[cfg(any())] cmd: Clock,
    #[cfg(all())] cmd: &CreatePayment,
    #[allow(unused_mut)] mut times: u8,
) -> ApiResult<i64> {
    Ok(cmd.amount + i64::from(times))
}

fn main() {}
