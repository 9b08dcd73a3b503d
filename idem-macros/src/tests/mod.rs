//! The attribute on tokens: the faults it reports and its expansion.

mod documentation;
mod failure;
mod half_typed;
mod handler;
mod identity;
mod lease;
mod options;
mod snapshots;
mod versions;

use proc_macro2::TokenStream;
use syn2::spanned::Spanned as _;

/// The attribute's output, parsed as Rust.
struct Expansion {
    errors: Vec<String>,
    items: Vec<syn2::Item>,
}

/// Applies the attribute. Panics if the output is not Rust.
fn apply(arguments: &str, item: &str) -> Expansion {
    let arguments: TokenStream = arguments.parse().expect("tokens");
    let item: TokenStream = item.parse().expect("tokens");
    read(crate::expand(arguments, &item, false))
}

fn read(tokens: TokenStream) -> Expansion {
    let file: syn2::File = syn2::parse2(tokens).expect("the expansion is Rust");
    let (errors, items): (Vec<_>, Vec<_>) = file.items.into_iter().partition(
        |item| matches!(item, syn2::Item::Macro(call) if call.mac.path.segments.last().is_some_and(|last| last.ident == "compile_error")),
    );
    let errors = errors
        .into_iter()
        .map(|item| match item {
            syn2::Item::Macro(call) => {
                let text: syn2::LitStr = call.mac.parse_body().expect("a message");
                text.value()
            }
            other => panic!("no error: {:?}", other.span()),
        })
        .collect();
    Expansion { errors, items }
}

impl Expansion {
    /// Returns the codes of the faults, in the order in which they are reported.
    fn codes(&self) -> Vec<&str> {
        self.errors
            .iter()
            .map(|error| {
                error
                    .trim_start_matches('[')
                    .split(']')
                    .next()
                    .expect("a code")
            })
            .collect()
    }

    /// Formats the expansion as a person would.
    fn pretty(self) -> String {
        prettyplease::unparse(&syn2::File {
            shebang: None,
            attrs: Vec::new(),
            items: self.items,
        })
    }
}

/// A handler without faults.
const HANDLER: &str = "async fn pay(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &Pay) -> Result<Paid, PayError> { body }";

/// Applies the attribute. Expects these faults, and the handler in spite of them.
#[track_caller]
fn reports(arguments: &str, item: &str, codes: &[&str]) -> Vec<String> {
    let expansion = apply(arguments, item);
    assert_eq!(expansion.codes(), codes, "{:#?}", expansion.errors);
    assert_eq!(expansion.items.len(), 1, "the handler is still there");
    expansion.errors
}
