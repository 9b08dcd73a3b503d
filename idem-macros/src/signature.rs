//! The signature that callers see. It is the same for a handler with faults and one without.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    FnArg, GenericArgument, Ident, Lifetime, Pat, PathArguments, ReturnType, Signature, Type,
};

use crate::args::Options;
use crate::item::Item;
use crate::model::{Model, Output};
use crate::types;

/// Returns the name of the parameter from which the unit of work begins. It is the user's own name,
/// so that other attributes can name it.
///
/// If the user's pattern has no name, it is `db`. Its span keeps it apart from a `db` of the
/// user's.
pub(crate) fn source(model: &Model<'_>) -> Ident {
    match model.first.as_ref().map(|first| &*first.typed.pat) {
        Some(Pat::Ident(binding)) if binding.by_ref.is_none() && binding.subpat.is_none() => {
            binding.ident.clone()
        }
        _ => Ident::new("db", Span::mixed_site()),
    }
}

/// Returns the signature with the transaction and the result replaced, as far as they are
/// understood.
pub(crate) fn rewritten(item: &Item, model: &Model<'_>, options: &Options) -> Signature {
    let mut sig = item.sig.clone();
    let keep = options.keeps_signature.given_as(true).is_some();
    let runtime = options.runtime();
    if let Some(first) = &model.first
        && let Some(FnArg::Typed(param)) = sig.inputs.iter_mut().nth(first.index)
    {
        let leased = types::attempt(&first.typed.ty).filter(|_| options.lease.is_given());
        let ty = match (leased, first.meant()) {
            (Some(attempt), _) => Some(lease_source(&runtime, attempt)),
            (None, Some(_)) if keep => Some((*param.ty).clone()),
            (None, Some(transaction)) => {
                let lifetime = first
                    .reference
                    .and_then(|reference| reference.lifetime.as_ref());
                Some(begin(&runtime, transaction, lifetime))
            }
            (None, None) => None,
        };
        if let Some(ty) = ty {
            param.attrs.retain(|attr| attr.path().is_ident("cfg"));
            *param.pat = Pat::Verbatim(source(model).into_token_stream());
            *param.ty = ty;
        }
    }
    if !keep {
        output(&mut sig, model, &runtime);
    }
    sig
}

/// Returns `impl Begin<'_, Tx>`, with the lifetime of the reference that it replaces.
fn begin(runtime: &TokenStream, transaction: &Type, lifetime: Option<&Lifetime>) -> Type {
    let at = Ends::of(transaction);
    let lifetime = lifetime.map_or_else(|| at.open(&quote!('_)), ToTokens::to_token_stream);
    let open = at.open(&quote!(impl #runtime::handler::Begin<));
    let close = at.close(&quote!(>));
    Type::Verbatim(quote!(#open #lifetime, #transaction #close))
}

/// Returns `impl LeaseSource`, the bound for a database handle that can hold a lease.
fn lease_source(runtime: &TokenStream, attempt: &Type) -> Type {
    let at = Ends::of(attempt);
    Type::Verbatim(at.open(&quote!(impl #runtime::handler::LeaseSource)))
}

fn output(sig: &mut Signature, model: &Model<'_>, runtime: &TokenStream) {
    let ReturnType::Type(_, written) = &mut sig.output else {
        return;
    };
    match &model.output {
        Output::Result { ok, .. } => {
            let at = Ends::of(ok);
            let open = at.open(&quote!(#runtime::Replayable<));
            let close = at.close(&quote!(>));
            let replayable = Type::Verbatim(quote!(#open #ok #close));
            if let Some(first) = first_argument(written) {
                *first = replayable;
            }
        }
        Output::Alias(ty) if !types::has_impl_trait(ty) => {
            let at = Ends::of(ty);
            let open = at.open(&quote!(<));
            let close = at.close(&quote!(as #runtime::handler::HandlerResult>::Replayed));
            **written = Type::Verbatim(quote!(#open #ty #close));
        }
        Output::Alias(_) | Output::Other(_) | Output::Missing => {}
    }
}

/// Returns the `T` of `Result<T, E>`.
fn first_argument(ty: &mut Type) -> Option<&mut Type> {
    match ty {
        Type::Group(group) => first_argument(&mut group.elem),
        Type::Paren(paren) => first_argument(&mut paren.elem),
        Type::Path(path) => match &mut path.path.segments.last_mut()?.arguments {
            PathArguments::AngleBracketed(angled) => {
                angled.args.iter_mut().find_map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                })
            }
            _ => None,
        },
        _ => None,
    }
}

/// The spans at which a piece of syntax begins and ends.
///
/// Joining spans needs a nightly compiler; rustc itself underlines from the first token of an
/// expression to its last, so generated code that carries both is underlined like its original.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) first: Span,
    pub(crate) last: Span,
}

impl Ends {
    pub(crate) fn of(syntax: impl ToTokens) -> Self {
        let mut tokens = syntax.into_token_stream().into_iter();
        let Some(first) = tokens.next() else {
            let nowhere = Span::mixed_site();
            return Self {
                first: nowhere,
                last: nowhere,
            };
        };
        let first = first.span();
        let last = tokens.last().map_or(first, |token| token.span());
        Self { first, last }
    }

    /// Returns generated tokens with the span where the syntax begins, resolved where the macro is
    /// defined.
    pub(crate) fn open(self, tokens: &TokenStream) -> TokenStream {
        located(tokens, self.first)
    }

    /// Returns generated tokens with the span where the syntax ends, resolved where the macro is
    /// defined.
    pub(crate) fn close(self, tokens: &TokenStream) -> TokenStream {
        located(tokens, self.last)
    }
}

fn located(tokens: &TokenStream, at: Span) -> TokenStream {
    let span = at.resolved_at(Span::mixed_site());
    tokens
        .clone()
        .into_iter()
        .map(|mut token| {
            if let TokenTree::Group(group) = &mut token {
                *group = Group::new(group.delimiter(), located(&group.stream(), at));
            }
            token.set_span(span);
            token
        })
        .collect()
}
