use idem_ui_tests::*;

#[idempotent(namespace = "shop", operation = format!("create-{kind}"), marker = Create)]
async fn create(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, kind: &str) -> ApiResult<usize> {
    Ok(kind.len())
}

fn main() {}
