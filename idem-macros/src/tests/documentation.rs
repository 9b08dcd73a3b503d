//! The last line of a handler's documentation.

use super::read;

/// Returns the lines about the attribute in the expansion of a handler with these attributes.
fn lines(arguments: &str, attributes: &str) -> Vec<String> {
    let item = format!(
        "{attributes}\npub async fn pay(tx: &mut Tx<'_>, key: &IdempotencyKey) -> Result<(), E> {{}}"
    );
    let tokens = crate::expand(
        arguments.parse().expect("tokens"),
        &item.parse().expect("tokens"),
        false,
    );
    let pretty = read(tokens).pretty();
    let lines = pretty
        .lines()
        .filter(|line| line.contains("Idempotent:"))
        .map(|line| line.trim_end_matches("*/").to_owned());
    lines.collect()
}

#[test]
fn it_says_namespace_operation_and_retention() {
    for (arguments, line) in [
        (
            "namespace = \"p\"",
            "Idempotent: namespace `p`, operation `pay`, retention 1d.",
        ),
        (
            "namespace = \"p\", operation = \"p.pay\", retention = \"90m\"",
            "Idempotent: namespace `p`, operation `p.pay`, retention 90m.",
        ),
        (
            "namespace = \"p\", operation = name()",
            "Idempotent: namespace `p`, an operation that is named at the call, retention 1d.",
        ),
    ] {
        assert_eq!(lines(arguments, "/// Pays."), [line]);
    }
}

#[test]
fn a_handler_without_documentation_is_left_to_the_lint() {
    for attributes in ["", "#[doc(hidden)]", "#[cfg(unix)]"] {
        assert!(lines("namespace = \"p\"", attributes).is_empty());
    }
}
