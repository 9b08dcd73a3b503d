//! Faults of the function under the attribute.

use super::{HANDLER, reports};

#[test]
fn the_function_itself_is_checked() {
    let valid = "namespace = \"p\"";
    let check = |item: &str, code: &str| drop(reports(valid, item, &[code]));
    let method = "namespace = \"p\", operation = \"o\", skip(self)";
    check(
        "fn f(tx: &mut Tx<'_>, key: &IdempotencyKey) -> Result<(), E> {}",
        "IDEM001",
    );
    check(
        "async fn f(tx: &mut Tx<'_>, key: &IdempotencyKey) {}",
        "IDEM002",
    );
    for result in [
        "Option<u8>",
        "(u8, u8)",
        "u64",
        "String",
        "!",
        "impl Future",
        "&Paid",
        "[u8; 2]",
        "ApiResult<impl X>",
    ] {
        check(
            &format!("async fn f(tx: &mut Tx<'_>, key: &IdempotencyKey) -> {result} {{}}"),
            "IDEM003",
        );
    }
    check(
        "async fn f(tx: &mut Tx<'_>, key: &IdempotencyKey) -> Result<Vec<&str>, E> {}",
        "IDEM004",
    );
    check(
        "async fn f(key: &IdempotencyKey, tx: &mut PgTransaction<'_>) -> Result<(), E> {}",
        "IDEM005",
    );
    reports(
        method,
        "async fn f(&self, pool: &PgPool, key: &IdempotencyKey) -> Result<(), E> {}",
        &["IDEM005"],
    );
    check(
        "async fn f(tx: PgTransaction<'_>, key: &IdempotencyKey) -> Result<(), E> {}",
        "IDEM005",
    );
    check(
        "async fn f(tx: &mut Transaction<'static, Postgres>, key: &IdempotencyKey) -> Result<(), E> {}",
        "IDEM006",
    );
    check(
        "async fn f(tx: &mut Tx<'_>, id: u8) -> Result<(), E> {}",
        "IDEM007",
    );
    check(
        "async fn f(tx: &mut Tx<'_>, _: &IdempotencyKey) -> Result<(), E> {}",
        "IDEM007",
    );
    check(
        "async fn f(tx: &mut Tx<'_>, a: &IdempotencyKey, b: IdempotencyKey) -> Result<(), E> {}",
        "IDEM008",
    );
    check(
        "const fn f(tx: &mut Tx<'_>, key: &IdempotencyKey) -> Result<(), E> {}",
        "IDEM009",
    );
    check(
        "async unsafe fn f(tx: &mut Tx<'_>, key: &IdempotencyKey) -> Result<(), E> {}",
        "IDEM009",
    );
    check(
        "async extern \"C\" fn f(tx: &mut Tx<'_>, key: &IdempotencyKey) -> Result<(), E> {}",
        "IDEM009",
    );
    check(
        "fn f<'a>(&'a self) -> Pin<Box<dyn Future<Output = Result<(), E>> + Send + 'a>> {}",
        "IDEM010",
    );
    check(
        "#[cached] async fn f(tx: &mut Tx<'_>, key: &IdempotencyKey) -> Result<(), E> {}",
        "IDEM011",
    );
    check("struct S;", "IDEM012");
    reports("namespace = \"p\", key = cmd.id", HANDLER, &["IDEM008"]);
}
