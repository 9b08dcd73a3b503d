use idem_ui_tests::*;

#[idempotent(namespace = "images", operation = "resize")]
async fn resize<const WIDTH: u32>(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, image: i64) -> ApiResult<i64> {
    Ok(image + i64::from(WIDTH))
}

fn main() {}
