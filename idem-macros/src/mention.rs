//! Whether a name is used in an expression or a type, as far as tokens can show.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Expr, GenericArgument, Ident, Type};

use crate::model::same;
use crate::types;

/// Returns whether an expression uses a name as a variable or a type, not only as a field or a
/// method.
pub(crate) fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    let mut after_point = false;
    tokens.into_iter().any(|token| {
        let member = after_point;
        after_point = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.');
        match token {
            TokenTree::Ident(ident) => !member && same(&ident, name),
            TokenTree::Group(group) => mentions(group.stream(), name),
            // `format!("import-{N}")` uses `N`.
            TokenTree::Literal(text) => interpolates(&text.to_string(), name),
            TokenTree::Punct(_) => false,
        }
    })
}

fn interpolates(literal: &str, name: &Ident) -> bool {
    let name = name.to_string();
    literal.contains('"')
        && literal.split('{').skip(1).any(|hole| {
            let rest = hole.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.starts_with([':', '}']))
        })
}

/// Returns whether an expression is a name, or a tuple with that name as a part.
pub(crate) fn consists_of(expr: &Expr, name: &Ident) -> bool {
    match expr {
        Expr::Group(group) => consists_of(&group.expr, name),
        Expr::Paren(paren) => consists_of(&paren.expr, name),
        Expr::Reference(reference) => consists_of(&reference.expr, name),
        Expr::Tuple(tuple) => tuple.elems.iter().any(|part| consists_of(part, name)),
        Expr::Path(path) => path.path.get_ident().is_some_and(|own| same(own, name)),
        _ => false,
    }
}

/// Returns whether a type determines a generic parameter.
///
/// `T::Item` does not: two types may have the same item. Neither does `PhantomData<T>`, which holds
/// nothing.
pub(crate) fn determines(ty: &Type, parameter: &Ident) -> bool {
    match ty {
        Type::Path(path) if path.qself.is_none() && path.path.is_ident(parameter) => true,
        Type::Path(_) if types::name(ty).is_some_and(|name| name == "PhantomData") => false,
        Type::Path(path) => path.path.segments.iter().any(|segment| {
            types::arguments(segment).any(|argument| match argument {
                GenericArgument::Type(ty) => determines(ty, parameter),
                GenericArgument::Const(value) => mentions(value.to_token_stream(), parameter),
                _ => false,
            })
        }),
        Type::Array(array) => {
            determines(&array.elem, parameter) || mentions(array.len.to_token_stream(), parameter)
        }
        Type::Group(group) => determines(&group.elem, parameter),
        Type::Paren(paren) => determines(&paren.elem, parameter),
        Type::Reference(reference) => determines(&reference.elem, parameter),
        Type::Slice(slice) => determines(&slice.elem, parameter),
        Type::Tuple(tuple) => tuple.elems.iter().any(|ty| determines(ty, parameter)),
        // Bounds, and types from macros.
        other => mentions(other.to_token_stream(), parameter),
    }
}

#[cfg(test)]
mod tests {
    use super::{determines, mentions};
    use quote::{format_ident, quote};
    use syn::parse_quote;

    #[test]
    fn a_member_is_no_mention_and_a_hole_in_a_text_is_one() {
        let n = format_ident!("N");
        for tokens in [
            quote!(N),
            quote!(f(N)),
            quote!(N::NAME),
            quote!(a.b(N)),
            quote!(format!("a-{N}")),
            quote!(format!("{N:>3}")),
        ] {
            assert!(mentions(tokens.clone(), &n), "{tokens}");
        }
        for tokens in [
            quote!(a.N),
            quote!("N"),
            quote!("{NAME}"),
            quote!('N'),
            quote!(n),
        ] {
            assert!(!mentions(tokens.clone(), &n), "{tokens}");
        }
    }

    #[test]
    fn a_type_determines_what_it_is_made_of_and_no_more() {
        let t = format_ident!("T");
        for ty in [
            parse_quote!(T),
            parse_quote!(&'a [Option<(u8, T)>]),
            parse_quote!([u8; T]),
            parse_quote!(Sized<{ T + 1 }>),
            parse_quote!(impl Into<T>),
        ] {
            assert!(determines(&ty, &t));
        }
        for ty in [
            parse_quote!(u8),
            parse_quote!(T::Item),
            parse_quote!(Vec<<T as Kind>::Item>),
            parse_quote!((u8, PhantomData<T>)),
        ] {
            assert!(!determines(&ty, &t));
        }
    }
}
