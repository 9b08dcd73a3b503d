use idem_ui_tests::*;

use std::collections::HashSet;

#[idempotent(namespace = "payments")]
async fn create(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, tags: &HashSet<String>) -> ApiResult<usize> {
    Ok(tags.len())
}

fn main() {}
