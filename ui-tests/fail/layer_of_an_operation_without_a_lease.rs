use idem_axum::IdempotencyLayer;
use idem_ui_tests::*;

use idem_runtime::Operation;

const SEND: Operation = Operation::new("mail", "send");

fn layer(pool: PgPool) {
    let _ = IdempotencyLayer::new(pool, SEND);
}

fn main() {}
