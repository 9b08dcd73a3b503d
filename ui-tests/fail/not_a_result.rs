use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Option<Payment> {
    Some(Payment { id: 1 })
}

fn main() {}
