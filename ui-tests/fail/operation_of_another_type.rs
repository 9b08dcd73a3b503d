use idem_ui_tests::*;

#[idempotent(namespace = "shop", operation = kind + 1)]
async fn create(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, kind: u32) -> ApiResult<u32> {
    Ok(kind)
}

fn main() {}
