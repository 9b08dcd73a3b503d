use idem_ui_tests::*;

struct Mine;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Payment, Mine> {
    Ok(Payment { id: 1 })
}

fn main() {}
