//! The attribute of idem.

mod args;
mod diagnostic;
mod duration;
mod expand;
mod fallback;
mod item;
mod literal;
mod model;
mod nearest;
mod pattern;
mod signature;
mod types;
mod validate;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as TokenStream2;
use quote::quote;

use crate::diagnostic::{Code, Faults};
use crate::model::Model;

/// Makes an async command handler safe to retry; see the [crate's documentation](crate).
#[proc_macro_attribute]
pub fn idempotent(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(arguments.into(), &item.into()).into()
}

/// The attribute on tokens, without a compiler around it.
fn expand(arguments: TokenStream2, tokens: &TokenStream2) -> TokenStream2 {
    let mut faults = Faults::default();
    let options = args::parse(arguments, &mut faults);
    let item = match item::parse(tokens) {
        Ok(item) => item,
        Err(error) => return alone(error, tokens),
    };
    if validate::is_async_trait(&item) {
        let error = diagnostic::fault(
            Code::AsyncTrait,
            &item.sig.ident,
            "`#[async_trait]` has rewritten this method before `#[idempotent]` could read it\nhelp: write the handler as an inherent `async fn` of the type, and call it from the trait's method",
        );
        return alone(error, tokens);
    }
    let model = Model::read(&item.sig);
    let plan = validate::plan(&item, &model, &options, &mut faults);
    match (faults.into_tokens(), plan) {
        (None, Some(plan)) => expand::handler(&item, &model, &options, &plan),
        (errors, _) => {
            let handler = fallback::handler(&item, &model, &options);
            quote!(#errors #handler)
        }
    }
}

/// An item that cannot be a handler: as it was, with the one error that says so.
fn alone(error: syn::Error, tokens: &TokenStream2) -> TokenStream2 {
    let mut faults = Faults::default();
    faults.absorb(error);
    let error = faults.into_tokens();
    quote!(#error #tokens)
}

#[cfg(test)]
mod tests;
