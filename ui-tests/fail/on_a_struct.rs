use idem_ui_tests::*;

#[idempotent(namespace = "payments")]
struct Service;

fn main() {}
