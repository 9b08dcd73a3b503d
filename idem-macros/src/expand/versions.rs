//! Generates the versions of what is recorded, for a handler's contract and for an error's implementation of `Failure`.

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Path;

use crate::args::Versions;
use crate::signature::Ends;

/// Generates `Versions::new(..)`; `None` if there is only version 1. `of` is the present type: without it, a function of
/// another type would be taken for right, and the handler for wrong.
///
/// Its functions are closures that capture nothing, underlined at the user's paths. They are no nested functions, which
/// could not name the handler's type parameters.
pub(crate) fn described(
    versions: &Versions,
    of: Option<&TokenStream>,
    p: &TokenStream,
) -> Option<TokenStream> {
    let mixed = Span::mixed_site();
    let version = versions.version.value.filter(|version| *version > 1)?;
    let steps = versions
        .upcast
        .value
        .as_ref()
        .map_or(&[][..], |upcast| upcast.steps());
    let present = Literal::u16_unsuffixed(version);
    let of = of.map(|of| quote_spanned!(mixed=> ::<#of>));
    let mut described = if steps.is_empty() {
        quote_spanned!(mixed=> #p::Versions #of::only(#present))
    } else {
        let oldest = version.saturating_sub(u16::try_from(steps.len()).unwrap_or(u16::MAX));
        let upcast = upcast(steps, oldest, p);
        let oldest = Literal::u16_unsuffixed(oldest);
        quote_spanned!(mixed=> #p::Versions #of::new(#present, #oldest, #upcast))
    };
    if let Some(written) = versions.written.value.filter(|written| *written < version) {
        let written = Literal::u16_unsuffixed(written);
        let downcast = match &versions.downcast.value {
            None => quote_spanned!(mixed=> #p::None),
            Some(path) => {
                let write = downcast(path, p);
                quote_spanned!(mixed=> #p::Some(#write))
            }
        };
        described.extend(quote_spanned!(mixed=> .writing(#written, #downcast)));
    }
    Some(described)
}

/// Generates the closure that reads an older version: the steps from that version on.
fn upcast(steps: &[Path], oldest: u16, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let from = |first: usize| {
        let older = call("older", &steps[first], quote_spanned!(mixed=> older), p);
        steps[first..].iter().fold(older, |older, path| {
            call("step", path, quote_spanned!(mixed=> #older, #path), p)
        })
    };
    if steps.len() == 1 {
        let only = from(0);
        return quote_spanned!(mixed=> |older| #only);
    }
    let arms = (0..steps.len() - 1).map(|first| {
        let version = oldest.saturating_add(u16::try_from(first).unwrap_or(u16::MAX));
        let version = Literal::u16_unsuffixed(version);
        let steps = from(first);
        quote_spanned!(mixed=> #version => #steps,)
    });
    let last = from(steps.len() - 1);
    quote_spanned!(mixed=> |older| match older.version() {
        #(#arms)*
        _ => #last,
    })
}

/// Generates the call of a function of the runtime, underlined at the user's path.
fn call(name: &str, path: &Path, arguments: TokenStream, p: &TokenStream) -> TokenStream {
    let at = Ends::of(path);
    let name = Ident::new(name, Span::mixed_site());
    let open = at.open(&quote!(#p::#name));
    let mut arguments = Group::new(Delimiter::Parenthesis, arguments);
    arguments.set_span(at.last.resolved_at(Span::mixed_site()));
    quote!(#open #arguments)
}

/// Generates the closure that writes an older version.
fn downcast(path: &Path, p: &TokenStream) -> TokenStream {
    let at = Ends::of(path).last.resolved_at(Span::mixed_site());
    let mixed = Span::mixed_site();
    let written = quote_spanned!(at=> #p::Downcasted(#path(value)).write_older());
    quote_spanned!(mixed=> |value| {
        use #p::WriteOlder as _;
        #written
    })
}
