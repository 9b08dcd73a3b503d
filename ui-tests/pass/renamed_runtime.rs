#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

mod vendored {
    pub use idem_runtime as idem;
}

#[vendored::idem::idempotent(namespace = "payments", crate = crate::vendored::idem)]
async fn create(_tx: &mut SqliteTransaction<'_>, key: &IdempotencyKey) -> ApiResult<()> {
    Ok(())
}

async fn callers(pool: &SqlitePool, key: &IdempotencyKey) -> ApiResult<()> {
    create(pool, key).await?;
    Ok(())
}

fn main() {}
