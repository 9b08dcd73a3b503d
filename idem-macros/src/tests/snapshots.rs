//! The expansion of one handler of each shape, kept in this crate's `snapshots/`.
//!
//! `TRYBUILD=overwrite cargo test -p idem-macros` rewrites the snapshots, as it does the ui cases.

use std::path::Path;
use std::{env, fs};

use proc_macro2::{TokenStream, TokenTree};

use super::read;

#[track_caller]
fn snapshot(name: &str, arguments: &str, item: &str) {
    let tokens = crate::expand(
        arguments.parse().expect("tokens"),
        &item.parse().expect("tokens"),
        false,
    );
    compare(name, &format!("#[idempotent({arguments})]"), tokens);
}

/// Compares the expansion and its token count with the blessed snapshot.
#[track_caller]
fn compare(name: &str, title: &str, tokens: TokenStream) {
    let count = count(tokens.clone());
    let expansion = read(tokens);
    let mut text = format!("// {title}\n// {count} tokens\n");
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

/// Counts the tokens at every depth; a pair of brackets counts as one.
fn count(tokens: TokenStream) -> usize {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Group(group) => 1 + count(group.stream()),
            _ => 1,
        })
        .sum()
}

/// Returns how many tokens generated code adds to a handler with this many compared parameters.
fn added(parameters: usize) -> usize {
    let parameters: Vec<String> = (0..parameters).map(|n| format!(", p{n}: u8")).collect();
    let parameters = parameters.concat();
    let item = format!(
        "async fn f(tx: &mut Tx<'_>, key: &IdempotencyKey{parameters}) -> Result<(), E> {{}}"
    );
    let item: TokenStream = item.parse().expect("tokens");
    let expansion = crate::expand("namespace = \"p\"".parse().expect("tokens"), &item, false);
    count(expansion) - count(item)
}

#[test]
fn the_expansion_grows_by_one_statement_a_compared_parameter() {
    let statement = count("request.field(\"p0\", &p0);".parse().expect("tokens"));
    for parameters in 0..16 {
        assert_eq!(added(parameters) - added(0), parameters * statement);
    }
}

/// Counts neither the documentation, the user's line and the attribute's, nor the registration.
#[test]
fn a_plain_handler_expands_to_at_most_430_tokens() {
    let tokens = crate::expand(
        PLAIN.0.parse().expect("tokens"),
        &PLAIN.1.parse().expect("tokens"),
        false,
    );
    let documentation = 2 * count("#[doc = \"Pays.\"]".parse().expect("tokens"));
    let counted = count(tokens.clone()) - documentation - count(registration(tokens));
    assert!(counted <= 430, "{counted} tokens");
}

/// Returns the tokens of the call that registers the handler: a path, an exclamation mark and braces.
fn registration(tokens: TokenStream) -> TokenStream {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if is_registration(&found) => {
                let length = "::idem_runtime::__private::register!".parse::<TokenStream>();
                let length = length.expect("tokens").into_iter().count();
                let mut call = found.split_off(found.len() - length);
                call.push(group.into());
                return call.into_iter().collect();
            }
            TokenTree::Group(group) => {
                let inside = registration(group.stream());
                if !inside.is_empty() {
                    return inside;
                }
                found.push(group.into());
            }
            other => found.push(other),
        }
    }
    TokenStream::new()
}

fn is_registration(before: &[TokenTree]) -> bool {
    match before {
        [.., TokenTree::Ident(name), TokenTree::Punct(punct)] => {
            name == "register" && punct.as_char() == '!'
        }
        _ => false,
    }
}

#[test]
fn derived_failure() {
    let item = "pub enum PayError<T> { #[failure(permanent)] Declined { code: T, r#type: u8 }, #[failure(permanent, class = \"closed\")] Closed, #[failure(permanent)] Over(u8, String), #[failure(permanent, database)] Taken(sqlx::Error), Database(sqlx::Error), Idempotency(idem_runtime::Error), #[failure(replayed)] Recorded(StoredFailure) }";
    let tokens = crate::failure::derive(item.parse().expect("tokens"));
    compare("failure", "#[derive(Failure)]", tokens);
}

/// The arguments and the item of a handler without options.
const PLAIN: (&str, &str) = (
    "namespace = \"payments\", retention = \"7d\"",
    "/// Pays.\npub async fn create_payment(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &CreatePayment) -> Result<Payment, PaymentError> { Ok(pay(tx, cmd).await?) }",
);

#[test]
fn plain() {
    snapshot("plain", PLAIN.0, PLAIN.1);
}

#[test]
fn described_by_a_marker() {
    snapshot(
        "marker",
        "namespace = \"payments\", marker = CreatePayment",
        "#[cfg(unix)] pub(crate) async fn create_payment(_tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<(), PaymentError> { Ok(()) }",
    );
}

#[test]
fn every_option() {
    snapshot(
        "every_option",
        "namespace = \"payments\", retention = \"1d12h\", operation = \"payment.create\", key = natural(tenant, cmd.order), scope = tenant, skip(_clock), on_conflict = \"wait\", failures = \"record\", record_request, result_limit = \"64KiB\", expiry = \"strict\", table = \"app.idempotency\", crate = crate::renamed",
        "async fn create(tx: &mut PgTransaction<'_>, tenant: Tenant, cmd: &Create, _clock: &Clock, _trace: u8) -> anyhow::Result<Payment> { todo!() }",
    );
}

#[test]
fn encrypted() {
    snapshot(
        "encrypted",
        "namespace = \"payments\", codec = keys::PAYMENTS",
        "async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: Create) -> Result<Payment, PaymentError> { pay(tx, cmd).await }",
    );
}

#[test]
fn reviewed() {
    snapshot(
        "reviewed",
        "namespace = \"payments\", authorize = may_see, on_replay = desk::refresh",
        "async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: Create) -> Result<Payment, PaymentError> { pay(tx, cmd).await }",
    );
}

#[test]
fn reviewed_under_a_lease() {
    snapshot(
        "reviewed_leased",
        "namespace = \"mail\", lease = \"5m\", authorize = may_see",
        "async fn send(attempt: &Attempt, key: &IdempotencyKey, mail: Mail) -> Result<u64, MailError> { relay(attempt, mail).await }",
    );
}

/// With the feature `schemas`.
#[test]
fn locked() {
    let arguments = "namespace = \"payments\", retention = \"7d\", result_version = 3, upcast = from_second, write_version = 2";
    let item = "async fn create<'a, T>(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &'a Create<'a>, Json(body): Json<Body>, #[cfg(unix)] of: Vec<T>, memo: Option<&str>) -> Result<Payment, PaymentError> { todo!() }";
    let tokens = crate::expand(
        arguments.parse().expect("tokens"),
        &item.parse().expect("tokens"),
        true,
    );
    compare("typed", &format!("#[idempotent({arguments})]"), tokens);
}

#[test]
fn versions() {
    snapshot(
        "versions",
        "namespace = \"payments\", result_version = 3, upcast(from_first, v2::upcast), write_version = 1, downcast = to_first",
        "async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Payment, PaymentError> { pay(tx).await }",
    );
}

#[test]
fn derived_failure_of_a_second_version() {
    let item = "#[failure(version = 2, upcast = upcast_failure, write_version = 1)] enum PayError { #[failure(permanent)] Declined, #[failure(replayed)] Recorded(StoredFailure) }";
    let tokens = crate::failure::derive(item.parse().expect("tokens"));
    compare("failure_versions", "#[derive(Failure)]", tokens);
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
        "namespace = \"payments\", operation = format!(\"create-{N}\"), fingerprint = (self.id, amount, to)",
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
        "namespace = \"payments\", operation = \"payment.create\", signature = \"keep\", fingerprint = (self, 1)",
        "async fn create(&self, #[allow(unused)] tx: &mut PgTransaction<'_>, key: &IdempotencyKey) -> Result<Payment, PaymentError> { todo!() }",
    );
}

#[test]
fn leased() {
    snapshot(
        "leased",
        "namespace = \"mail\", operation = \"mail.send\", skip(self), lease = \"5m\", on_lapse = \"retry\", failures = \"record\"",
        "/// Sends.\npub async fn send(self: Arc<Self>, attempt: &Attempt, key: &IdempotencyKey, mail: Mail) -> Result<Receipt, MailError> { Ok(self.relay(attempt, mail).await?) }",
    );
}

#[test]
fn leased_with_an_optional_key() {
    snapshot(
        "leased_optional",
        "namespace = \"mail\", lease = \"90s\"",
        "async fn send(_: &Attempt, _key: Option<&IdempotencyKey>, #[cfg(unix)] mut to: String) -> ApiResult<()> { Ok(()) }",
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
