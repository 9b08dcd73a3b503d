//! Generates the implementation of `Failure`: two matches over the recorded form.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{
    DeriveInput, Fields, Generics, Ident, Index, Member, Type, WherePredicate, parse_quote_spanned,
};

use super::check::{FailurePlan, Permanent};
use crate::args::Versions;
use crate::expand::versions;
use crate::model::same;
use crate::signature::Ends;

pub(super) fn implementation(
    input: &DeriveInput,
    plan: &FailurePlan<'_>,
    versions: &Versions,
    runtime: &TokenStream,
) -> TokenStream {
    let mixed = Span::mixed_site();
    let p = quote_spanned!(mixed=> #runtime::__private);
    let generics = bounded(input, plan, &p);
    let (replayed, field) = plan.replayed;
    let replayed = resolved(replayed);
    let member = member(0, field.ident.as_ref());
    let ends = Ends::of(&field.ty);
    let ty = &field.ty;
    let (open, close) = (
        ends.open(&quote!(#p::replayed::<)),
        ends.close(&quote!(>())),
    );
    let replays = quote!(#open #ty #close);
    let recorded = plan
        .permanent
        .iter()
        .map(|variant| record(input, variant, &p));
    let rebuilt = plan
        .permanent
        .iter()
        .filter_map(|variant| rebuild(variant, &p));
    let transient = plan.transient.iter().map(|variant| resolved(variant));
    let transient = (!plan.transient.is_empty())
        .then(|| quote_spanned!(mixed=> #(Self::#transient { .. })|* => #p::None,));
    let to_failure = quote_spanned! {mixed=>
        fn to_failure(&self) -> #p::Option<#p::StoredFailure> {
            match self {
                #(#recorded)*
                #transient
                Self::#replayed { #member: held } => #p::Some(#replays.stored(held)),
            }
        }
    };
    let from_failure = quote_spanned! {mixed=>
        fn from_failure(failure: #p::StoredFailure) -> Self {
            match failure.class.as_str() {
                #(#rebuilt)*
                _ => {}
            }
            Self::#replayed { #member: #replays.held(failure) }
        }
    };
    // A variant that is not recorded with its fields comes back in the replayed variant.
    let others = plan
        .permanent
        .iter()
        .filter(|variant| variant.fields.is_none());
    let others: Vec<_> = others.map(|variant| resolved(variant.variant)).collect();
    let are_all = plan.transient.len() + plan.permanent.len() == others.len();
    let itself = (!are_all).then(|| quote_spanned!(mixed=> _ => #p::same_variant(self, back),));
    let comes_back_as = quote_spanned! {mixed=>
        fn comes_back_as(&self, back: &Self) -> bool {
            let _ = back;
            match self {
                Self::#replayed { .. } #(| Self::#others { .. })* => true,
                #itself
            }
        }
    };
    let versions = versions::described(
        versions,
        Some(&quote_spanned!(mixed=> #p::StoredFailure)),
        &p,
    )
    .map(|versions| {
        quote_spanned! {mixed=>
            const VERSIONS: #p::Option<#p::Versions<#p::StoredFailure>> = #p::Some(#versions);
        }
    });
    around(
        input,
        &generics,
        runtime,
        &quote!(#versions #to_failure #from_failure #comes_back_as),
    )
}

/// Generates an implementation for a type with faults, so that its users compile.
pub(super) fn fallback(input: &DeriveInput, runtime: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let stored = quote_spanned!(mixed=> #runtime::StoredFailure);
    let option = quote_spanned!(mixed=> ::core::option::Option);
    let methods = quote_spanned! {mixed=>
        fn to_failure(&self) -> #option<#stored> {
            #option::None
        }
        fn from_failure(_: #stored) -> Self {
            #option::unwrap(#option::None)
        }
    };
    around(input, &input.generics, runtime, &methods)
}

fn around(
    input: &DeriveInput,
    generics: &Generics,
    runtime: &TokenStream,
    methods: &TokenStream,
) -> TokenStream {
    let mixed = Span::mixed_site();
    let name = &input.ident;
    let (parameters, arguments, bounds) = generics.split_for_impl();
    quote_spanned! {mixed=>
        #[automatically_derived]
        impl #parameters #runtime::Failure for #name #arguments #bounds {
            #methods
        }
    }
}

/// Generates the arm of `to_failure` for one variant.
fn record(input: &DeriveInput, permanent: &Permanent<'_>, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let variant = resolved(permanent.variant);
    let class = &permanent.class;
    let at = Ends::of(&input.ident);
    let described = at.open(&quote!(#p::described(self)));
    let Some(fields) = permanent.fields else {
        return quote_spanned!(mixed=> Self::#variant { .. } => #p::Some(#described.failure(#class, #p::Value::Null)),);
    };
    let bound: Vec<Part<'_>> = parts(fields);
    let bindings = bound.iter().map(|part| {
        let Part { member, local, .. } = part;
        quote_spanned!(mixed=> #member: #local)
    });
    let values = bound.iter().map(|part| {
        let (field, local) = (part.field(p), &part.local);
        let value = quote_spanned!(mixed=> #field.encode(#local));
        match &part.name {
            Some(name) => quote_spanned!(mixed=> (#name, #value)),
            None => value,
        }
    });
    let data = match fields {
        _ if fields.is_empty() => quote_spanned!(mixed=> #p::Value::Null),
        Fields::Named(_) => quote_spanned!(mixed=> #p::named([#(#values),*])),
        _ => quote_spanned!(mixed=> #p::listed([#(#values),*])),
    };
    quote_spanned! {mixed=>
        Self::#variant { #(#bindings),* } => #p::Some(#described.failure(#class, #data)),
    }
}

/// Generates the arm of `from_failure` for one variant, or `None` if its fields are not recorded.
fn rebuild(permanent: &Permanent<'_>, p: &TokenStream) -> Option<TokenStream> {
    let mixed = Span::mixed_site();
    let variant = resolved(permanent.variant);
    let class = &permanent.class;
    let bound = parts(permanent.fields?);
    if bound.is_empty() {
        return Some(quote_spanned!(mixed=> #class => return Self::#variant {},));
    }
    let locals = bound.iter().map(|part| &part.local);
    let members = bound.iter().map(|part| {
        let Part { member, local, .. } = part;
        quote_spanned!(mixed=> #member: #local)
    });
    let values = bound.iter().enumerate().map(|(index, part)| {
        let field = part.field(p);
        if let Some(name) = &part.name {
            quote_spanned!(mixed=> #field.named(&failure, #name))
        } else {
            quote_spanned!(mixed=> #field.listed(&failure, #index))
        }
    });
    Some(quote_spanned! {mixed=>
        #class => {
            if let (#(#p::Some(#locals),)*) = (#(#values,)*) {
                return Self::#variant { #(#members),* };
            }
        }
    })
}

/// A field of a recorded variant.
struct Part<'i> {
    member: Member,
    local: Ident,
    /// The field's name in the record; `None` for a field that is known by its position.
    name: Option<String>,
    ty: &'i Type,
}

impl Part<'_> {
    /// Generates `field::<Ty>()`, underlined at the field's type. It is the same at every use, so
    /// the compiler reports a fault of the type only once.
    fn field(&self, p: &TokenStream) -> TokenStream {
        let (ends, ty) = (Ends::of(self.ty), self.ty);
        let (open, close) = (ends.open(&quote!(#p::field::<)), ends.close(&quote!(>())));
        quote!(#open #ty #close)
    }
}

fn parts(fields: &Fields) -> Vec<Part<'_>> {
    fields
        .iter()
        .enumerate()
        .map(|(index, field)| Part {
            member: member(index, field.ident.as_ref()),
            local: Ident::new(&format!("field{index}"), Span::mixed_site()),
            name: field
                .ident
                .as_ref()
                .map(|name| syn::ext::IdentExt::unraw(name).to_string()),
            ty: &field.ty,
        })
        .collect()
}

fn member(index: usize, name: Option<&Ident>) -> Member {
    match name {
        Some(name) => Member::Named(resolved(name)),
        None => Member::Unnamed(Index {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            span: Span::mixed_site(),
        }),
    }
}

/// Returns the name with the macro's span: lints on the user's own uses ignore it.
fn resolved(name: &Ident) -> Ident {
    let mut name = name.clone();
    name.set_span(name.span().resolved_at(Span::mixed_site()));
    name
}

/// Returns the generics, with the bounds of the fields that depend on a type parameter.
fn bounded(input: &DeriveInput, plan: &FailurePlan<'_>, p: &TokenStream) -> Generics {
    let mut generics = input.generics.clone();
    let names: Vec<&Ident> = input
        .generics
        .type_params()
        .map(|param| &param.ident)
        .collect();
    if names.is_empty() {
        return generics;
    }
    let fields = plan.permanent.iter().filter_map(|variant| variant.fields);
    let mut bounds: Vec<WherePredicate> = fields
        .flatten()
        .map(|field| &field.ty)
        .filter(|ty| mentions(ty.to_token_stream(), &names))
        .map(|ty| parse_quote_spanned!(Span::mixed_site()=> #ty: #p::FailureField))
        .collect();
    if !plan.permanent.is_empty() {
        bounds.push(parse_quote_spanned!(Span::mixed_site()=> Self: #p::Described));
    }
    generics.make_where_clause().predicates.extend(bounds);
    generics
}

fn mentions(tokens: TokenStream, names: &[&Ident]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => names.iter().any(|name| same(&ident, name)),
        TokenTree::Group(group) => mentions(group.stream(), names),
        _ => false,
    })
}
