use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) {

}

fn main() {}
