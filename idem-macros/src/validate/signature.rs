//! The rules of the function itself: its qualifiers, the transaction, the result.

use quote::ToTokens as _;
use syn::{Attribute, GenericArgument, Safety, Type};

use super::{lease, web as answer};
use crate::args::Options;
use crate::diagnostic::{Code, Faults};
use crate::item::Item;
use crate::model::{First, Model, Output, shown};
use crate::types;
use crate::web;

pub(super) fn check(item: &Item, model: &Model<'_>, options: &Options, faults: &mut Faults) {
    attributes(item, faults);
    qualifiers(item, faults);
    if options.lease.is_given() {
        lease::signature(item, model, faults);
    } else {
        transaction(item, model, faults);
    }
    output(item, model, faults);
}

/// Returns whether the item is an async method that `#[async_trait]` has rewritten.
pub(crate) fn is_async_trait(item: &Item) -> bool {
    let syn::ReturnType::Type(_, ty) = &item.sig.output else {
        return false;
    };
    item.sig.asyncness.is_none()
        && types::name(ty).is_some_and(|name| name == "Pin")
        && shown(ty).contains("dyn")
        && shown(ty).contains("Future")
}

fn attributes(item: &Item, faults: &mut Faults) {
    for attr in &item.attrs {
        let Some(segment) = attr.path().segments.last() else {
            continue;
        };
        if is_cache(attr) {
            faults.push(
                Code::CachingAttribute,
                attr.path(),
                format_args!(
                    "`#[{}]` would answer a retry before the record is looked up, and would keep the results of rolled-back transactions: remove it",
                    segment.ident
                ),
            );
        }
    }
}

/// Returns whether an attribute answers calls from a cache, as far as its name shows.
pub(crate) fn is_cache(attr: &Attribute) -> bool {
    let names = ["cached", "io_cached", "memoize"];
    let last = attr.path().segments.last();
    last.is_some_and(|segment| names.iter().any(|name| segment.ident == name))
}

fn qualifiers(item: &Item, faults: &mut Faults) {
    let sig = &item.sig;
    let name = &sig.ident;
    if let Some(constness) = &sig.constness {
        faults.push(
            Code::Qualifier,
            constness,
            format_args!("a handler cannot be `const`: write `async fn {name}`"),
        );
    } else if sig.asyncness.is_none() {
        faults.push(
            Code::NotAsync,
            sig.fn_token,
            format_args!(
                "a handler must be async, because it awaits its database: write `async fn {name}`"
            ),
        );
    }
    if let Safety::Unsafe(token) = &sig.safety {
        faults.push(
            Code::Qualifier,
            token,
            "a handler cannot be `unsafe`: use an `unsafe` block in its body, and say there why it is sound",
        );
    }
    if let Some(abi) = &sig.abi {
        faults.push(
            Code::Qualifier,
            abi,
            format_args!("a handler cannot be `extern`: write `async fn {name}`"),
        );
    } else if let Some(variadic) = &sig.variadic {
        faults.push(
            Code::Qualifier,
            variadic.dots,
            "a handler cannot be variadic",
        );
    }
}

fn transaction(item: &Item, model: &Model<'_>, faults: &mut Faults) {
    let Some(first) = &model.first else {
        faults.push(
            Code::NoTransaction,
            &item.sig.ident,
            "the first parameter of a handler is its transaction\nhelp: add `tx: &mut Transaction<'_, Postgres>`, or that of your database",
        );
        return;
    };
    let Some(transaction) = first.transaction() else {
        faults.push(
            Code::NoTransaction,
            &first.typed.ty,
            not_a_transaction(first, model),
        );
        return;
    };
    let written = types::last_segment(transaction).and_then(|segment| {
        types::arguments(segment).find_map(|argument| match argument {
            GenericArgument::Lifetime(lifetime) if lifetime.ident == "static" => Some(lifetime),
            _ => None,
        })
    });
    if let Some(lifetime) = written {
        faults.push(
            Code::StaticTransaction,
            lifetime,
            "the transaction borrows from its pool or connection, so it is not `'static`: write `'_`",
        );
    }
}

fn not_a_transaction(first: &First<'_>, model: &Model<'_>) -> String {
    let later = model.rest.iter().find(|param| {
        types::bare(&param.typed.ty)
            .to_token_stream()
            .to_string()
            .contains("Transaction")
    });
    if let Some(name) = later.and_then(|param| param.plain_name()) {
        return format!(
            "the first parameter of a handler is its transaction\nhelp: move `{name}` to the front"
        );
    }
    if let Some(transaction) = first.meant() {
        return format!(
            "the transaction is taken by mutable reference\nhelp: write `&mut {}`",
            shown(transaction)
        );
    }
    "the first parameter of a handler is its transaction\nhelp: write `tx: &mut Transaction<'_, Postgres>`, or that of your database; callers pass a pool, a connection or a transaction in its place".to_owned()
}

fn output(item: &Item, model: &Model<'_>, faults: &mut Faults) {
    match &model.output {
        Output::Missing => faults.push(
            Code::NoReturnType,
            &item.sig.ident,
            "a handler must return the result that a retry gets again\nhelp: write `-> Result<(), E>`, where `E: From<idem_runtime::Error>`",
        ),
        Output::Other(ty) if web::is_answer(ty) => answer::answer(ty, faults),
        Output::Other(ty) => {
            let inner = match types::last_segment(ty) {
                Some(segment) if segment.ident == "Option" => types::type_arguments(segment).next(),
                _ => Some(*ty),
            };
            let inner = match inner.map(types::bare) {
                None | Some(Type::ImplTrait(_) | Type::Never(_) | Type::Reference(_)) => "T".to_owned(),
                Some(_) => shown(ty),
            };
            faults.push(
                Code::NotAResult,
                ty,
                format_args!(
                    "a handler must return a `Result`, because a call may be refused before the body runs\nhelp: write `Result<{inner}, E>`, where `E: From<idem_runtime::Error>`"
                ),
            );
        }
        Output::Result { ok, .. } if web::is_opaque_answer(ok) => answer::answer(ok, faults),
        Output::Result { ok, .. } => {
            if let Some(reference) = types::reference(ok) {
                faults.push(
                    Code::BorrowedResult,
                    reference,
                    "a recorded result outlives its request, so it cannot hold a reference\nhelp: return an owned type, such as `String` for `&str`",
                );
            }
        }
        Output::Alias(ty) => {
            if types::has_impl_trait(ty) {
                faults.push(
                    Code::NotAResult,
                    ty,
                    "`impl Trait` cannot stand in an alias of `Result` here\nhelp: write `Result<impl Trait, E>` in full",
                );
            }
        }
    }
}
