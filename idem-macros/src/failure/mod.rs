//! `#[derive(Failure)]`: which variants of an error are permanent, and how they are recorded.
//!
//! The stages are those of the attribute: [`read`] the words, [`check`] them together, expand.

mod check;
mod expand;
mod read;

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{Data, DeriveInput};

use crate::args::{self, Slot};
use crate::diagnostic::{Code, Faults};
use crate::failure::read::Attributes;

/// Runs the derive on tokens, without a compiler around it.
pub(crate) fn derive(tokens: TokenStream) -> TokenStream {
    let mut faults = Faults::default();
    let input: DeriveInput = match syn::parse2(tokens) {
        Ok(input) => input,
        // The compiler hands over complete items only, so this error is not ours to explain.
        Err(error) => return error.into_compile_error(),
    };
    let Data::Enum(data) = &input.data else {
        let keyword = match &input.data {
            Data::Struct(data) => data.struct_token.to_token_stream(),
            Data::Union(data) => data.union_token.to_token_stream(),
            Data::Enum(_) => TokenStream::new(),
        };
        faults.push(
            Code::NotAnEnum,
            &keyword,
            format_args!(
                "`#[derive(Failure)]` goes on an enum, not on a `{keyword}`: a failure of a class that this build does not know needs a variant to come back in\nhelp: make it a variant beside `#[failure(replayed)] Recorded(StoredFailure)`, or write `impl Failure` yourself"
            ),
        );
        let instead = expand::fallback(&input, &args::runtime(&Slot::default()));
        let errors = faults.into_tokens();
        return quote!(#errors #instead);
    };
    let attributes = Attributes::read(&input, data, &mut faults);
    let runtime = args::runtime(&attributes.runtime);
    let plan = check::plan(&input, &attributes, &mut faults);
    match (faults.into_tokens(), plan) {
        (None, Some(plan)) => expand::implementation(&input, &plan, &attributes.versions, &runtime),
        (errors, _) => {
            let instead = expand::fallback(&input, &runtime);
            quote!(#errors #instead)
        }
    }
}
