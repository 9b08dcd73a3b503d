//! The function under the attribute. Everything but its body is parsed; the body stays opaque.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::{AttrStyle, Attribute, Signature, Token, Visibility};

use crate::diagnostic::{Code, fault};

pub(crate) struct Item {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) defaultness: Option<Token![default]>,
    pub(crate) sig: Signature,
    /// The braces and their content, without inner attributes (those are in `attrs`).
    pub(crate) body: Group,
}

/// Reads the item. The error for another item says where the attribute belongs.
pub(crate) fn parse(tokens: &TokenStream) -> syn::Result<Item> {
    match Item::read.parse2(tokens.clone()) {
        Ok(item) => item,
        Err(error) => Err(no_function(tokens, &error)),
    }
}

impl Item {
    /// Reads the item. The outer error is a syntax error, the inner one is a fault of ours.
    fn read(input: ParseStream) -> syn::Result<syn::Result<Self>> {
        let mut attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let defaultness = input.parse()?;
        let sig: Signature = input.parse()?;
        if input.parse::<Option<Token![;]>>()?.is_some() {
            return Ok(Err(fault(
                Code::NotAFunction,
                &sig.ident,
                "`#[idempotent]` needs the function's body\nhelp: put the attribute on the method of the `impl`, with `signature = \"keep\"`",
            )));
        }
        let body = braces(input.parse()?)?;
        let (inner, tokens) = inner_attributes.parse2(body.stream())?;
        attrs.extend(inner);
        let mut bare = Group::new(Delimiter::Brace, tokens);
        bare.set_span(body.span());
        Ok(Ok(Self {
            attrs,
            vis,
            defaultness,
            sig,
            body: bare,
        }))
    }
}

/// Returns the body's braces, unwrapped from the invisible group that a `$body:block` comes in.
fn braces(token: TokenTree) -> syn::Result<Group> {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Ok(group),
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            braces(syn::parse2(group.stream())?)
        }
        other => Err(syn::Error::new(
            other.span(),
            "expected the function's body",
        )),
    }
}

fn no_function(tokens: &TokenStream, error: &syn::Error) -> syn::Error {
    let is = |token: &TokenTree, keyword: &str| matches!(token, TokenTree::Ident(word) if word == keyword);
    let mut words = tokens.clone().into_iter();
    let other = words.find(|token| OTHERS.iter().any(|keyword| is(token, keyword)));
    match other {
        Some(word) if !words.any(|token| is(&token, "fn")) => fault(
            Code::NotAFunction,
            &word,
            format_args!("`#[idempotent]` goes on an async function or method, not on `{word}`"),
        ),
        _ => syn::Error::new(
            error.span(),
            format_args!(
                "[{}] `#[idempotent]` goes on an async function: {error}",
                Code::NotAFunction
            ),
        ),
    }
}

/// The keywords that start items other than functions.
const OTHERS: [&str; 9] = [
    "struct", "enum", "impl", "mod", "trait", "const", "static", "type", "let",
];

/// Splits `#![..]` off the start of a body. The function itself can carry them with the same
/// meaning; a block inside it cannot.
fn inner_attributes(body: ParseStream) -> syn::Result<(Vec<Attribute>, TokenStream)> {
    let mut attrs = body.call(Attribute::parse_inner)?;
    for attr in &mut attrs {
        attr.style = AttrStyle::Outer;
    }
    Ok((attrs, body.parse()?))
}
