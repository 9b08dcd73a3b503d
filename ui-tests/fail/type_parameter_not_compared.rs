use idem_ui_tests::*;

trait Kind {
    const NAME: &'static str;
}

#[idempotent(namespace = "imports")]
async fn import<T: Kind>(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, rows: i64) -> ApiResult<String> {
    Ok(format!("{rows} {}", T::NAME))
}

fn main() {}
