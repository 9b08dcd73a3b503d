//! The expansion of half-typed input: never a panic, always the handler, at most one error.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::read;

const HANDLER: &str = "pub async fn pay(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &Pay) -> Result<Paid, PayError> { let id = tx.insert(cmd).await?; Ok(Paid { id }) }";

/// Returns every prefix of the tokens. An open group is closed where it is cut.
pub(super) fn prefixes(tokens: &TokenStream) -> Vec<TokenStream> {
    let mut all = vec![TokenStream::new()];
    let mut before = TokenStream::new();
    for token in tokens.clone() {
        if let TokenTree::Group(group) = &token {
            for inner in prefixes(&group.stream()) {
                let mut cut = before.clone();
                cut.extend([TokenTree::Group(Group::new(group.delimiter(), inner))]);
                all.push(cut);
            }
        }
        before.extend([token]);
        all.push(before.clone());
    }
    all
}

#[track_caller]
fn holds(arguments: TokenStream, item: &TokenStream) {
    let shown = arguments.to_string();
    let expansion = read(crate::expand(arguments, item, false));
    assert!(
        expansion.errors.len() <= 1,
        "for `{shown}`: {:#?}",
        expansion.errors
    );
    let marked = shown.contains("marker = Pay");
    let items = if marked { 3 } else { 1 };
    assert_eq!(expansion.items.len(), items, "for `{shown}`");
    let code = expansion.pretty();
    assert!(
        code.contains(
            "pub async fn pay(\n    tx: impl ::idem_runtime::handler::Begin<'_, PgTransaction<'_>>,\n"
        ),
        "for `{shown}`: {code}"
    );
    assert!(
        code.contains(") -> Result<::idem_runtime::Replayable<Paid>, PayError>"),
        "for `{shown}`: {code}"
    );
    assert!(code.contains("let tx"), "for `{shown}`: {code}");
}

#[test]
fn every_prefix_of_the_arguments_is_one_error_or_none() {
    let item: TokenStream = HANDLER.parse().expect("tokens");
    for arguments in [
        "namespace = \"payments\", retention = \"24h\", operation = \"pay\", key = key.child(\"a\"), scope = cmd.tenant",
        "namespace = \"payments\", key = natural(cmd.tenant, key), key_required = true, skip(cmd), record_request = true",
        "namespace = \"payments\", fingerprint = (cmd.amount, cmd.payee), on_conflict = \"wait\", wait = \"2s\"",
        "namespace = \"payments\", operation = format!(\"pay-{}\", cmd.kind)",
        "namespace = \"payments\", marker = Pay",
        "namespace = \"payments\", failures = \"record\", expiry = \"strict\", table = \"app.idem\"",
    ] {
        let tokens: TokenStream = arguments.parse().expect("tokens");
        for prefix in prefixes(&tokens) {
            holds(prefix, &item);
        }
    }
}

#[test]
fn a_body_cut_off_anywhere_is_passed_on_as_it_is() {
    let item: TokenStream = HANDLER.parse().expect("tokens");
    let mut before: Vec<TokenTree> = item.into_iter().collect();
    let Some(TokenTree::Group(body)) = before.pop() else {
        panic!("a function ends in its body");
    };
    for prefix in prefixes(&body.stream()) {
        let item = before
            .iter()
            .cloned()
            .chain([TokenTree::Group(Group::new(
                Delimiter::Brace,
                prefix.clone(),
            ))])
            .collect();
        let out =
            crate::expand("namespace = \"p\"".parse().expect("tokens"), &item, false).to_string();
        assert!(
            out.contains(&prefix.to_string()),
            "the body `{prefix}` is not in {out}"
        );
        assert!(!out.contains("compile_error"), "for the body `{prefix}`");
    }
}
