//! Generates the registration of a handler: everything about it that is known without a call.

use proc_macro2::{Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Expr, Type};

use super::describe;
use crate::args::{Fingerprint, Operation, Options};
use crate::item::Item;
use crate::model::{Model, Output, same, shown};
use crate::types;
use crate::validate::{Compared, KeyValue, Plan};

/// Generates the registration.
///
/// It stands in the body, so that methods are registered too, and it comes first, because items
/// precede statements.
pub(super) fn registration(
    item: &Item,
    model: &Model<'_>,
    options: &Options,
    plan: &Plan<'_>,
    p: &TokenStream,
) -> TokenStream {
    let mixed = Span::mixed_site();
    let namespace = &options.namespace.value;
    let function = describe::function(item);
    let name = match &options.operation.value {
        Some(Operation::Literal(name)) => quote_spanned!(mixed=> #p::Some(#name)),
        Some(Operation::Computed(_)) => quote_spanned!(mixed=> #p::None),
        None => quote_spanned!(mixed=> #p::Some(#function)),
    };
    let policy = describe::policy(item, options, p);
    let key = key_source(model, plan);
    let types = options.describes.then(|| types(model, options, plan, p));
    quote_spanned! {mixed=>
        #p::register! {
            [#p]
            namespace: #namespace,
            operation: #name,
            function: #function,
            policy: #policy,
            key: #key,
            #types
        }
    }
}

/// Names where the key comes from: a parameter that a transport fills, or the request itself.
fn key_source(model: &Model<'_>, plan: &Plan<'_>) -> Ident {
    let is_key = |expr: &Expr| match expr {
        Expr::Path(path) => path.path.get_ident().is_some_and(|name| {
            let mut keys = model.rest.iter().filter(|param| param.key.is_some());
            keys.any(|param| param.plain_name().is_some_and(|key| same(key, name)))
        }),
        _ => false,
    };
    let name = match &plan.key {
        KeyValue::Parameter(_) => "Parameter",
        KeyValue::Given(expr) if is_key(expr) => "Parameter",
        KeyValue::Given(_) | KeyValue::Natural(_) => "Request",
    };
    Ident::new(name, Span::mixed_site())
}

/// Generates the types of request and result, what of the request is compared, and the versions of the result.
fn types(model: &Model<'_>, options: &Options, plan: &Plan<'_>, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    let [version, oldest, written] = versions(options);
    let compared = match &options.fingerprint.value {
        Some(Fingerprint::Off) => quote_spanned!(mixed=> Nothing),
        Some(Fingerprint::Projection(expr)) => {
            let text = tight(&expr.to_token_stream());
            quote_spanned!(mixed=> Expression(#text))
        }
        None => quote_spanned!(mixed=> Parameters),
    };
    let parameters = plan.requested.iter();
    let parameters = parameters.map(|requested| parameter(requested, plan, model, p));
    let result = match &model.output {
        Output::Result { ok, .. } => named(ok, model),
        _ => named(plan.result, model).map(|result| {
            let runtime = options.runtime();
            quote_spanned!(mixed=> <#result as #runtime::handler::HandlerResult>::Ok)
        }),
    };
    let result = schema(result, p);
    quote_spanned! {mixed=>
        types: #p::HandlerTypes::new(
            &[#(#parameters),*],
            #result,
            #p::ComparedValues::#compared,
            [#version, #oldest, #written],
        ),
    }
}

/// Returns the present version, the oldest one that is read, and the one that is written.
fn versions(options: &Options) -> [Literal; 3] {
    let versions = &options.versions;
    let version = versions.version.value.unwrap_or(1);
    let steps = versions
        .upcast
        .value
        .as_ref()
        .map_or(0, |upcast| upcast.steps().len());
    let oldest = version.saturating_sub(u16::try_from(steps).unwrap_or(u16::MAX));
    let written = versions.written.value.unwrap_or(version);
    [version, oldest, written].map(Literal::u16_unsuffixed)
}

/// Generates a parameter of the request: its name, its type as written, whether it is compared, and its schema.
fn parameter(
    requested: &Compared<'_>,
    plan: &Plan<'_>,
    model: &Model<'_>,
    p: &TokenStream,
) -> TokenStream {
    let mixed = Span::mixed_site();
    let Compared { name, ty, cfgs } = requested;
    let text = name.unraw().to_string();
    let whole = model
        .rest
        .iter()
        .any(|param| param.plain_name().is_some_and(|plain| same(plain, name)));
    let written = if whole {
        shown(ty)
    } else {
        format!("part of {}", shown(ty))
    };
    let compared = plan.compared.iter().any(|other| same(other.name, name));
    let schema = schema(named(ty, model).filter(|_| whole), p);
    quote_spanned!(mixed=> #(#cfgs)* #p::Parameter::new(#text, #written, #compared, #schema))
}

/// Generates the function that returns the schema of a type, if it has one.
fn schema(ty: Option<TokenStream>, p: &TokenStream) -> TokenStream {
    let mixed = Span::mixed_site();
    match ty {
        None => quote_spanned!(mixed=> |_| #p::None),
        Some(ty) => quote_spanned!(mixed=> |schemas| {
            #[allow(unused_imports)]
            use #p::OpaqueShape as _;
            #p::Shape::<#ty>::new().schema(schemas)
        }),
    }
}

/// Returns the type as an item inside the handler can name it, without its outer references; `None` if it cannot: an
/// item sees no parameter of the function or of its `impl`.
fn named(ty: &Type, model: &Model<'_>) -> Option<TokenStream> {
    if model.receiver.is_some() {
        return None;
    }
    let mut ty = types::bare(ty);
    while let Type::Reference(reference) = ty {
        ty = types::bare(&reference.elem);
    }
    outside(ty.to_token_stream(), model)
}

/// Returns the tokens of a type with inferred lifetimes; `None` if one of them has no meaning outside the function.
fn outside(tokens: TokenStream, model: &Model<'_>) -> Option<TokenStream> {
    let mut is_lifetime = false;
    let outside = tokens.into_iter().map(|token| {
        let after_quote = std::mem::take(&mut is_lifetime);
        Some(match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), outside(group.stream(), model)?);
                inner.set_span(group.span());
                inner.into()
            }
            TokenTree::Punct(punct) => {
                is_lifetime = punct.as_char() == '\'';
                if punct.as_char() == '!' {
                    return None;
                }
                punct.into()
            }
            TokenTree::Ident(ident) if after_quote => {
                let name = if ident == "static" { "static" } else { "_" };
                Ident::new(name, ident.span()).into()
            }
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                // A single capital is taken for a parameter of the `impl`, which the attribute does not see.
                let is_parameter = name.len() == 1 && name.chars().all(char::is_uppercase);
                let is_nameless = matches!(&*name, "impl" | "Self" | "_");
                if is_parameter
                    || is_nameless
                    || model.generics.iter().any(|generic| same(generic, &ident))
                {
                    return None;
                }
                ident.into()
            }
            TokenTree::Literal(literal) => literal.into(),
        })
    });
    outside
        .collect::<Option<Vec<TokenTree>>>()
        .map(TokenStream::from_iter)
}

/// Formats tokens as a person would write them.
fn tight(tokens: &TokenStream) -> String {
    crate::model::spaced(tokens)
        .replace(" . ", ".")
        .replace(" (", "(")
}
