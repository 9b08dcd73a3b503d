//! Lease mode: the handlers and options that it allows.

use proc_macro2::TokenStream;

use super::reports;

const METHOD: &str = "namespace = \"p\", lease = \"5m\", operation = \"o\", skip(self)";
const VALID: &str = "namespace = \"p\", lease = \"5m\", on_lapse = \"unknown\"";

#[track_caller]
fn says(arguments: &str, item: &str, code: &str, message: &str) {
    let errors = reports(arguments, item, &[code]);
    assert!(errors[0].contains(message), "{}", errors[0]);
}

#[test]
fn a_leased_handler_of_any_shape_is_expanded() {
    for item in [
        "async fn f(attempt: &Attempt, key: IdempotencyKey, cmd: Cmd) -> Result<(), E> {}",
        "async fn f(_: &idem::Attempt, key: &IdempotencyKey, n: &'static str) -> Result<(), E> {}",
        "async fn f(self: Arc<Self>, attempt: &Attempt, key: Option<&IdempotencyKey>) -> Result<(), E> {}",
        "async fn f(self, attempt: &'_ Attempt, key: &IdempotencyKey, (a, b): (Vec<u8>, Cow<'static, str>)) -> Result<(), E> {}",
    ] {
        let expansion = reports(
            if item.contains("self") { METHOD } else { VALID },
            item,
            &[],
        );
        assert!(expansion.is_empty());
    }
}

#[test]
fn without_a_word_a_lapse_leaves_the_outcome_unknown() {
    let item: TokenStream =
        "async fn f(attempt: &Attempt, key: IdempotencyKey) -> Result<(), E> {}"
            .parse()
            .expect("tokens");
    for (on_lapse, variant) in [
        ("", "OnLapse::Unknown"),
        (", on_lapse = \"unknown\"", "OnLapse::Unknown"),
        (", on_lapse = \"retry\"", "OnLapse::Retry"),
    ] {
        let arguments = format!("namespace = \"p\", lease = \"90s\"{on_lapse}");
        let expansion = crate::expand(arguments.parse().expect("tokens"), &item, false);
        let text = expansion.to_string().replace(' ', "");
        assert!(text.contains(variant), "{text}");
        assert!(text.contains("seconds(90u64)"), "{text}");
    }
}

#[test]
fn the_options_of_a_lease_are_checked() {
    let item = "async fn f(attempt: &Attempt, key: IdempotencyKey) -> Result<(), E> {}";
    let check = |arguments: &str, code: &str, message: &str| {
        says(
            &format!("namespace = \"p\", {arguments}"),
            item,
            code,
            message,
        );
    };
    check("lease = 5m", "IDEM023", "`lease = \"5m\"`");
    check(
        "lease = \"5m\", on_lapse",
        "IDEM023",
        "`on_lapse = \"retry\"`",
    );
    check(
        "lease = \"5m\", on_lapse = \"unknwon\"",
        "IDEM024",
        "did you mean `on_lapse = \"unknown\"`?",
    );
    check("lease = \"0s\"", "IDEM029", "more than zero");
    check("lease = \"25h\"", "IDEM029", "it can be at most `1d`");
    check(
        "lease = \"5m\", signature = \"keep\"",
        "IDEM031",
        "remove `signature`",
    );
    check(
        "lease = \"5m\", key_required = true, lease = \"6m\"",
        "IDEM022",
        "`lease` is given twice",
    );
    let optional = item.replace("IdempotencyKey", "Option<IdempotencyKey>");
    says(
        "namespace = \"p\", lease = \"5m\", key_required = false",
        &optional,
        "IDEM031",
        "remove `key_required`",
    );
    says(
        "namespace = \"p\", on_lapse = \"retry\"",
        super::HANDLER,
        "IDEM031",
        "add `lease = \"5m\"`",
    );
}

#[test]
fn a_leased_handler_takes_its_attempt_first() {
    for (parameters, message) in [
        (
            "key: IdempotencyKey, attempt: &Attempt",
            "move `attempt` to the front",
        ),
        ("attempt: Attempt, key: IdempotencyKey", "write `&Attempt`"),
        (
            "attempt: &mut Attempt, key: IdempotencyKey",
            "write `&Attempt`",
        ),
        (
            "tx: &mut PgTransaction<'_>, key: IdempotencyKey",
            "no transaction",
        ),
        ("cmd: Cmd, key: IdempotencyKey", "before this parameter"),
        ("&self", "add `attempt: &Attempt`"),
    ] {
        let item = format!("async fn f({parameters}) -> Result<(), E> {{}}");
        let (options, codes): (_, &[&str]) = if parameters == "&self" {
            (METHOD, &["IDEM013", "IDEM014", "IDEM007"])
        } else {
            (VALID, &["IDEM013"])
        };
        let errors = reports(options, &item, codes);
        assert!(errors[0].contains(message), "{}", errors[0]);
    }
}

#[test]
fn a_leased_handler_owns_what_it_takes() {
    for parameters in [
        "&self, attempt: &Attempt, key: IdempotencyKey",
        "self: &Arc<Self>, attempt: &Attempt, key: IdempotencyKey",
        "attempt: &Attempt, key: IdempotencyKey, cmd: &Cmd",
        "attempt: &Attempt, key: IdempotencyKey, name: Option<&'a str>",
        "attempt: &Attempt, key: IdempotencyKey, name: Cow<'_, str>",
    ] {
        let item = format!("async fn f<'a>({parameters}) -> Result<(), E> {{}}");
        let options = if parameters.contains("self") {
            METHOD
        } else {
            VALID
        };
        says(options, &item, "IDEM014", "cannot borrow");
    }
}
