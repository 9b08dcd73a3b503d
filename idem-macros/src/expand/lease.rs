//! Generates the code of a leased handler: the body becomes a future that is handed to the runtime.
//!
//! The runtime runs the future in a task, and the caller only waits for that task, so the future
//! owns everything it uses. Its first await returns the attempt once the key is claimed.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Pat, Type};

use super::{
    allowance, anchor, binding, contract, describe, registration, request, review, user_block,
};
use crate::args::Options;
use crate::item::Item;
use crate::model::{Model, Param, cfgs};
use crate::signature::{self, Ends};
use crate::types;
use crate::validate::Plan;

pub(super) fn body(
    item: &Item,
    model: &Model<'_>,
    options: &Options,
    plan: &Plan<'_>,
    attempt: &Type,
) -> TokenStream {
    let mixed = Span::mixed_site();
    let runtime = options.runtime();
    let p = quote_spanned!(mixed=> #runtime::__private);
    let registration = registration::registration(item, model, options, plan, &p);
    let operation = describe::constant(item, options, &p);
    let contract = contract(model, options, plan, &p);
    let request = request(options, plan, &p);
    let result = types::inferred(plan.result);
    let anchor = anchor(&result, &p);
    let source = signature::source(model);
    let underscored = allowance(&source);
    let keys: Vec<_> = borrowed_keys(model, &p).collect();
    let owned = keys.iter().map(|key| &key.owned);
    let reborrow: Vec<_> = keys.iter().map(|key| &key.reborrow).collect();
    let (reviewing, attempt_receiver) = if options.reviews() {
        let review = review::leased(model, options, &p);
        let attempt = quote_spanned! {mixed=>
            match attempt_receiver.entered().await {
                #p::Entered::Attempt(held) => held,
                #p::Entered::Review(review) => {
                    #(#reborrow)*
                    #review
                }
            }
        };
        (Some(quote_spanned!(mixed=> request.review();)), attempt)
    } else {
        (
            None,
            quote_spanned!(mixed=> attempt_receiver.attempt().await),
        )
    };
    // Underlined at the user's type, in case that is another `Attempt` than the library's.
    let held = Ends::of(attempt).open(&quote!(&held));
    let binding = match model.first.as_ref().map(|first| &*first.typed.pat) {
        Some(Pat::Wild(_)) | None => quote_spanned!(mixed=> #attempt_receiver;),
        Some(_) => {
            let ty: Type = syn::parse_quote!(&#attempt);
            let binding = binding(model, Some(&ty), &held);
            quote_spanned!(mixed=> let held = #attempt_receiver; #binding)
        }
    };
    let user = user_block(item);
    quote_spanned! {mixed=>
        #registration
        let contract = #contract;
        let mut request = #p::LeasedRequest::new(#operation);
        #request
        #reviewing
        #underscored
        let (call, attempt_receiver) = #p::leased(#source, request, contract);
        #(#owned)*
        let body = async move {
            #anchor
            #binding
            #(#reborrow)*
            #user
        };
        return #p::run(call, body).await
    }
}

/// A key that the handler takes by reference. The body owns it and borrows it under its own name
/// and type.
struct BorrowedKey {
    owned: TokenStream,
    reborrow: TokenStream,
}

fn borrowed_keys(model: &Model<'_>, p: &TokenStream) -> impl Iterator<Item = BorrowedKey> {
    let keys = model.rest.iter().filter(|param| param.key.is_some());
    keys.enumerate()
        .filter_map(move |(n, param)| borrowed_key(n, param, p))
}

fn borrowed_key(n: usize, param: &Param<'_>, p: &TokenStream) -> Option<BorrowedKey> {
    let mixed = Span::mixed_site();
    let name = param.plain_name()?;
    let ty = types::bare(&param.typed.ty);
    let owned = format_ident!("key_{n}", span = mixed);
    let (own, reference) = if let Type::Reference(_) = ty {
        (
            quote_spanned!(mixed=> #p::Clone::clone(#name)),
            quote_spanned!(mixed=> &#owned),
        )
    } else {
        // An `Option` of a key, or of a reference to one.
        let inner = types::last_segment(ty).and_then(|last| types::type_arguments(last).next())?;
        if !matches!(types::bare(inner), Type::Reference(_)) {
            return None;
        }
        (
            quote_spanned!(mixed=> #name.cloned()),
            quote_spanned!(mixed=> #p::Option::as_ref(&#owned)),
        )
    };
    let cfgs = cfgs(&param.typed.attrs);
    let underscored = allowance(name);
    let attrs = &param.typed.attrs;
    let pat = &param.typed.pat;
    Some(BorrowedKey {
        owned: quote_spanned!(mixed=> #(#cfgs)* #underscored let #owned = #own;),
        // The parameter was used already: it identified the call.
        reborrow: quote!(#(#attrs)* #[allow(unused_variables, clippy::shadow_unrelated)] let #pat = #reference;),
    })
}
