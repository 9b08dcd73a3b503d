use idem_ui_tests::*;

#[idempotent(namespace = "payments", fingerprint = cmd.amount)]
async fn create(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment, name: impl AsRef<str>) -> ApiResult<String> {
    Ok(name.as_ref().to_owned())
}

fn main() {}
