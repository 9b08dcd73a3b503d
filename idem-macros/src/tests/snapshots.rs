//! The expansion of one handler of each shape, beside this crate in `snapshots/`.
//!
//! `TRYBUILD=overwrite cargo test -p idem-macros` writes them anew, as it does for the ui cases.

use std::path::Path;
use std::{env, fs};

use super::apply;

#[track_caller]
fn snapshot(name: &str, arguments: &str, item: &str) {
    let expansion = apply(arguments, item);
    let mut text = format!("// #[idempotent({arguments})]\n");
    for error in &expansion.errors {
        for line in error.lines() {
            text.push_str("// ");
            text.push_str(line);
            text.push('\n');
        }
    }
    text.push_str(&expansion.pretty());
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("snapshots")
        .join(name)
        .with_extension("rs");
    if env::var_os("TRYBUILD").is_some_and(|mode| mode == "overwrite") {
        fs::write(&path, &text).expect("the snapshot is written");
    }
    let blessed = fs::read_to_string(&path).expect("the snapshot is there");
    assert_eq!(text, blessed, "the expansion of `{name}` has changed");
}

#[test]
fn plain() {
    snapshot(
        "plain",
        "namespace = \"payments\", retention = \"7d\"",
        "/// Pays.\npub async fn create_payment(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> Result<Payment, PaymentError> { Ok(pay(tx, cmd).await?) }",
    );
}

#[test]
fn every_option() {
    snapshot(
        "every_option",
        "namespace = \"payments\", retention = \"1d12h\", operation = \"payment.create\", key = natural(tenant, cmd.order), scope = tenant, skip(_clock), on_conflict = \"wait\", failures = \"record\", record_request, expiry = \"strict\", table = \"app.idempotency\", crate = crate::renamed",
        "async fn create(tx: &mut PgTransaction<'_>, tenant: Tenant, cmd: &Create, _clock: &Clock, _trace: u8) -> anyhow::Result<Payment> { todo!() }",
    );
}

#[test]
fn optional_key_without_fingerprint() {
    snapshot(
        "optional_key",
        "namespace = \"payments\", key_required = false, fingerprint = off",
        "async fn create(tx: &mut PgTransaction<'_>, key: Option<IdempotencyKey>, cmd: Create) -> ApiResult<Payment> { todo!() }",
    );
}

#[test]
fn method_with_generics_and_patterns() {
    snapshot(
        "method",
        "namespace = \"payments\", fingerprint = (amount, to)",
        "#[inline] pub(crate) async fn create<'a, DB: Backend, const N: usize>(self: Arc<Self>, mut tx: &'a mut Transaction<'_, DB>, r#type: &IdempotencyKey, Json(Create { amount, to, .. }): Json<Create>) -> Result<impl Serialize + use<DB>, Error> where DB: Sized { #![allow(unused)] Ok(N) }",
    );
}

#[test]
fn compared_names() {
    snapshot(
        "compared",
        "namespace = \"payments\", key = &r#type, skip(c)",
        "async fn create(_: &mut Tx<'_>, Path((a, b)): Path<(Id, Id)>, #[cfg(unix)] _c: u8, #[allow(unused)] mut c: &Clock, r#type: String, r#move: u8, _: u8) -> Result<(), E> { Ok(()) }",
    );
}

#[test]
fn kept_signature() {
    snapshot(
        "keep",
        "namespace = \"payments\", signature = \"keep\"",
        "async fn create(&self, #[allow(unused)] tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Payment, PaymentError> { todo!() }",
    );
}

#[test]
fn faulty() {
    snapshot(
        "faulty",
        "namespace = ",
        "/// Pays.\npub async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &Create) -> Result<Payment, PaymentError> { Ok(pay(tx, cmd).await?) }",
    );
}
