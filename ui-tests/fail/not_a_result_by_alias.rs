use idem_ui_tests::*;

type Found<T> = Option<T>;

#[idempotent(namespace = "payments")]
async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Found<Payment> {
    Some(Payment { id: 1 })
}

fn main() {}
