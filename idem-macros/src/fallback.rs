//! Generates the replacement for a handler that has faults: the final signature around the body.
//!
//! Callers still find the function they expect, and an editor still finds the body's types, so one
//! fault is one message. The replacement uses no names of the runtime beyond those in the
//! signature.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Safety, Token};

use crate::args::Options;
use crate::expand;
use crate::item::Item;
use crate::method;
use crate::model::{First, Model, Output};
use crate::signature;
use crate::types;
use crate::validate::is_cache;

pub(crate) fn handler(item: &Item, model: &Model<'_>, options: &Options) -> TokenStream {
    let Item {
        vis, defaultness, ..
    } = item;
    // The cache attribute has been refused. Running it too would only add its own messages.
    let attrs = item.attrs.iter().filter(|attr| !is_cache(attr));
    let mixed = Span::mixed_site();
    let mut sig = signature::rewritten(item, model, options);
    sig.constness = None;
    sig.safety = Safety::Default;
    sig.abi = None;
    sig.variadic = None;
    sig.asyncness.get_or_insert(Token![async](mixed));
    let body = body(item, model, options);
    // A type cannot stand beside a method.
    let is_method = method::is_one(item, model, options);
    let marker = (!is_method).then(|| expand::describe::stand_in(item, options));
    let marker = marker.flatten();
    quote! { #marker #(#attrs)* #[allow(warnings)] #vis #defaultness #sig { #body } }
}

fn body(item: &Item, model: &Model<'_>, options: &Options) -> TokenStream {
    let mixed = Span::mixed_site();
    let user = expand::user_block(item);
    let option = quote_spanned!(mixed=> ::core::option::Option);
    // The type that the rewritten signature no longer names.
    let replaced = model.first.as_ref().filter(|first| {
        let leased = options.lease.is_given() && types::attempt(&first.typed.ty).is_some();
        leased || first.meant().is_some()
    });
    let binding = replaced.and_then(|First { typed, .. }| {
        let ty = &typed.ty;
        // A diverging expression would make the body dead code.
        let nothing = quote_spanned!(mixed=> #option::unwrap(#option::None::<#ty>));
        // The type is written out for editors that do not know the standard library.
        expand::binding(model, Some(ty), &nothing)
    });
    let Some(result) = understood(model) else {
        return quote_spanned!(mixed=> #binding #user);
    };
    let result = types::inferred(result);
    let runtime = options.runtime();
    let block = quote_spanned! {mixed=>
        let result: #result = async {
            if let #option::Some(never) = #option::None::<#result> {
                return never;
            }
            #binding
            #user
        }.await;
    };
    if options.keeps_signature.given_as(true).is_some() {
        return quote_spanned!(mixed=> #block result);
    }
    // Only the runtime can build a `Replayable`. Mapping one that never exists has the right type.
    quote_spanned! {mixed=>
        #block
        let never = #option::None::<#runtime::Replayable<()>>;
        ::core::result::Result::map(result, |value| #runtime::Replayable::map(#option::unwrap(never), |()| value))
    }
}

/// Returns the result's type, if the signature was rewritten for it.
fn understood<'i>(model: &Model<'i>) -> Option<&'i syn::Type> {
    match &model.output {
        Output::Alias(ty) if types::has_impl_trait(ty) => None,
        output => output.result(),
    }
}
