//! Whether a function stands in an `impl` or a trait, as far as its tokens can show.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{GenericParam, Signature};

use crate::args::{Fingerprint, KeyOption, Options};
use crate::item::Item;
use crate::model::Model;

/// Returns whether the function is certainly a method or an associated function.
///
/// A function without a receiver that does not use `Self` cannot be told from a free function.
pub(crate) fn is_one(item: &Item, model: &Model<'_>, options: &Options) -> bool {
    model.receiver.is_some()
        || item.defaultness.is_some()
        // A leased handler cannot keep its signature; that is a separate fault.
        || options.keeps_signature.given_as(true).is_some() && !options.lease.is_given()
        || uses_self(item.sig.to_token_stream())
        || uses_self(item.body.to_token_stream())
        || options_use_self(options)
        || has_foreign_lifetime(&item.sig)
}

fn options_use_self(options: &Options) -> bool {
    let fingerprint = match &options.fingerprint.value {
        Some(Fingerprint::Projection(projection)) => Some(projection),
        _ => None,
    };
    let parts = match &options.key.value {
        Some(KeyOption::Given(expr)) => std::slice::from_ref(expr),
        Some(KeyOption::Natural(parts)) => parts.as_slice(),
        None => &[],
    };
    let scope = options.scope.value.as_ref();
    let mut all = parts.iter().chain(fingerprint).chain(scope);
    let paths = [&options.authorize.value, &options.on_replay.value];
    let mut paths = paths.into_iter().flatten();
    all.any(|expr| uses_self(expr.to_token_stream()))
        || paths.any(|path| uses_self(path.to_token_stream()))
}

/// Returns whether `Self` is named, other than by an item inside the body that has its own `Self`.
fn uses_self(tokens: TokenStream) -> bool {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "Self" => return true,
            TokenTree::Ident(word) => {
                let begins_item = ["impl", "trait", "struct", "enum"]
                    .iter()
                    .any(|own| word == own)
                    || word == "union" && matches!(tokens.peek(), Some(TokenTree::Ident(_)));
                if begins_item {
                    tokens.by_ref().find(ends_item);
                }
            }
            TokenTree::Group(group) if uses_self(group.stream()) => return true,
            _ => {}
        }
    }
    false
}

fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    }
}

/// Returns whether the signature uses a lifetime that it does not declare; only an `impl` allows
/// that.
fn has_foreign_lifetime(sig: &Signature) -> bool {
    let declared = sig
        .generics
        .params
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Lifetime(lifetime) => Some(lifetime.lifetime.ident.to_string()),
            _ => None,
        });
    let mut declared: Vec<String> = declared.collect();
    declared.extend(["static".to_owned(), "_".to_owned()]);
    let mut used = Vec::new();
    lifetimes(sig.to_token_stream(), &mut declared, &mut used);
    used.iter().any(|lifetime| !declared.contains(lifetime))
}

/// Collects the lifetimes that are used. Adds the lifetimes of each `for<..>` to the declared ones.
fn lifetimes(tokens: TokenStream, declared: &mut Vec<String>, used: &mut Vec<String>) {
    let mut tokens = tokens.into_iter();
    let mut binder = false;
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "for" => binder = true,
            TokenTree::Punct(punct) if punct.as_char() == '>' => binder = false,
            TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                if let Some(TokenTree::Ident(name)) = tokens.next() {
                    let list = if binder { &mut *declared } else { &mut *used };
                    list.push(name.to_string());
                }
            }
            TokenTree::Group(group) => lifetimes(group.stream(), declared, used),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{has_foreign_lifetime, uses_self};
    use quote::quote;
    use syn::parse_quote;

    #[test]
    fn the_self_of_an_item_in_the_body_is_not_the_functions() {
        for tokens in [
            quote!(Self::new()),
            quote!({
                let a: Vec<Self> = b;
            }),
            quote!({
                struct A;
                impl A {
                    fn f() -> Self {
                        A
                    }
                }
                Self::g()
            }),
            quote!({
                struct A(u8);
                Self::g()
            }),
            quote!(f(union, Self::A)),
        ] {
            assert!(uses_self(tokens.clone()), "{tokens}");
        }
        for tokens in [
            quote!(self.a),
            quote!({
                impl From<A> for B {
                    fn from(a: A) -> Self {
                        B(a)
                    }
                }
            }),
            quote!({
                trait A {
                    fn f(self) -> Self;
                }
                enum B {
                    C(Box<Self>),
                }
                struct D(Box<Self>);
            }),
            quote!({
                union A {
                    a: Pointer<Self>,
                }
            }),
        ] {
            assert!(!uses_self(tokens.clone()), "{tokens}");
        }
    }

    #[test]
    fn a_lifetime_that_is_not_declared_is_that_of_an_impl() {
        assert!(has_foreign_lifetime(
            &parse_quote!(async fn f(tx: &mut Tx<'a>) -> R)
        ));
        assert!(has_foreign_lifetime(&parse_quote!(
            async fn f<'a>(tx: &mut Tx<'a>, name: Cow<'b, str>) -> R
        )));
        assert!(!has_foreign_lifetime(&parse_quote!(
            async fn f<'a, T>(tx: &'a mut Tx<'_>, f: &'static dyn for<'b> Fn(&'b str) -> &'b T) -> R
            where
                T: for<'de> Deserialize<'de>
        )));
    }
}
