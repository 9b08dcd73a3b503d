use idem_ui_tests::*;

#[idempotent(namespace = "P", retention = "0s", skip(clock))]
fn create(pool: &PgPool, id: u8) -> Option<u8> {
    let _ = pool;
    Some(id)
}

fn main() {}
