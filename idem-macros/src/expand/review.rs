//! Generates what shows a replay to `authorize` and `on_replay` before it is answered.
//!
//! Both are called before the body, so that its parameters are all there. In an atomic handler that is after the
//! connection is given back; in a leased one it is in place of the body, which owns the parameters.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{Path, Type};

use crate::args::Options;
use crate::model::Model;
use crate::signature::Ends;
use crate::types;

/// Generates the end of an atomic call that does not run its body, from `done` and `request`.
pub(super) fn atomic(model: &Model<'_>, options: &Options, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let authorize = options.authorize.value.as_ref().map(|path| {
        let asked = called(path, model, &quote_spanned!(mixed=> #p::recorded(&done)), p);
        quote_spanned! {mixed=>
            if let #p::Err(error) = #asked {
                return #p::denied(request, error);
            }
        }
    });
    let on_replay = options.on_replay.value.as_ref().map(|path| {
        let edited = called(path, model, &quote_spanned!(mixed=> value), p);
        quote_spanned! {mixed=>
            let done = match done {
                #p::Ok(replayed) => {
                    let (value, recorded_at) = #p::apart(replayed);
                    match #edited {
                        #p::Ok(value) => #p::Ok(#p::together(value, recorded_at)),
                        #p::Err(error) => return #p::denied(request, error),
                    }
                }
                #p::Err(error) => #p::Err(error),
            };
        }
    });
    quote_spanned! {mixed=>
        if !#p::is_replay(&request) {
            return done;
        }
        #authorize
        #on_replay
        return #p::approved(request, done);
    }
}

/// Generates the end of a leased call that does not run its body, from `review`.
pub(super) fn leased(model: &Model<'_>, options: &Options, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let authorize = options.authorize.value.as_ref().map(|path| {
        let asked = called(path, model, &quote_spanned!(mixed=> review.recorded()), p);
        quote_spanned! {mixed=>
            if let #p::Err(error) = #asked {
                return review.denied(error);
            }
        }
    });
    let on_replay = options.on_replay.value.as_ref().map(|path| {
        let edited = called(path, model, &quote_spanned!(mixed=> value), p);
        quote_spanned! {mixed=>
            let (result, denial) = review.apart();
            return match result {
                #p::Ok(value) => match #edited {
                    #p::Ok(value) => #p::Ok(value),
                    #p::Err(error) => denial.deny(error),
                },
                #p::Err(error) => #p::Err(error),
            };
        }
    });
    let approved = on_replay.unwrap_or_else(|| quote_spanned!(mixed=> return review.approved();));
    quote_spanned!(mixed=> #authorize #approved)
}

/// Generates the call of a function of the user's, underlined at its path.
fn called(path: &Path, model: &Model<'_>, last: &TokenStream, p: &TokenStream) -> TokenStream {
    let arguments = arguments(model, p);
    let at = Ends::of(path).last.resolved_at(Span::mixed_site());
    quote_spanned!(at=> #path(#(#arguments,)* #last).await)
}

/// Returns the receiver and each parameter after the first: references as they are, other values by reference.
fn arguments(model: &Model<'_>, p: &TokenStream) -> Vec<TokenStream> {
    let mixed = Span::mixed_site();
    let receiver = model.receiver.map(|receiver| {
        let this = &receiver.self_token;
        quote_spanned!(mixed=> #p::receiver::<Self>(&#this))
    });
    let named = model.rest.iter().filter_map(|param| {
        let name = param.plain_name()?;
        Some(match types::bare(&param.typed.ty) {
            Type::Reference(reference) if reference.mutability.is_some() => quote!(&*#name),
            Type::Reference(_) => name.to_token_stream(),
            _ => quote!(&#name),
        })
    });
    receiver.into_iter().chain(named).collect()
}
