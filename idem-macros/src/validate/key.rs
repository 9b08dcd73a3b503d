//! The source of the key: a parameter of its type, or the option `key`; exactly one of them.

use quote::ToTokens as _;
use syn::{Expr, Ident};

use super::KeyValue;
use crate::args::{self, Options};
use crate::diagnostic::{Code, Faults};
use crate::item::Item;
use crate::mention::mentions;
use crate::model::{Model, Param, same};
use crate::types::{self, KeyShape};

pub(super) struct Found<'i> {
    pub(super) source: KeyValue<'i>,
    /// The names that are not compared, because equal keys imply equal values.
    pub(super) leaves: Vec<&'i Ident>,
}

pub(super) fn find<'i>(
    item: &'i Item,
    model: &'i Model<'i>,
    options: &'i Options,
    faults: &mut Faults,
) -> Option<Found<'i>> {
    let typed: Vec<&Param<'_>> = model
        .rest
        .iter()
        .filter(|param| param.key.is_some())
        .collect();
    match &options.key.value {
        Some(key) => Some(from_option(key, &typed, options, faults)),
        None if options.key.is_given() => None,
        None => from_parameter(item, model, &typed, options, faults),
    }
}

fn from_option<'i>(
    key: &'i args::KeyOption,
    typed: &[&'i Param<'i>],
    options: &'i Options,
    faults: &mut Faults,
) -> Found<'i> {
    let (source, parts) = match key {
        args::KeyOption::Given(expr) => (KeyValue::Given(expr), std::slice::from_ref(expr)),
        args::KeyOption::Natural(parts) => (KeyValue::Natural(parts), parts.as_slice()),
    };
    // A part of a natural key stays compared: its text in the key may carry less than its value.
    let mut leaves: Vec<&Ident> = match key {
        args::KeyOption::Given(expr) => plain_name(expr).into_iter().collect(),
        args::KeyOption::Natural(_) => Vec::new(),
    };
    let skip = options.skip.value.as_deref().unwrap_or_default();
    for name in typed.iter().flat_map(|param| param.names.iter().copied()) {
        if parts
            .iter()
            .any(|part| mentions(part.to_token_stream(), name))
        {
            leaves.push(name);
        } else if !skip.iter().any(|skipped| same(skipped, name)) {
            faults.push(
                Code::TwoKeys,
                name,
                format_args!(
                    "the key comes from `key = ..`, and here is another\nhelp: remove the parameter or the option, or write `skip({name})` if this key is for something else"
                ),
            );
        }
    }
    if let (Some(name), args::KeyOption::Natural(_)) = (options.key_required.given_as(false), key) {
        faults.push(
            Code::Contradiction,
            name,
            "a natural key is never absent: remove `key_required`",
        );
    }
    Found { source, leaves }
}

fn from_parameter<'i>(
    item: &Item,
    model: &'i Model<'i>,
    typed: &[&'i Param<'i>],
    options: &Options,
    faults: &mut Faults,
) -> Option<Found<'i>> {
    let Some(first) = typed.first() else {
        // The `key` option may be the argument that could not be read, or the key may stand in the
        // transaction's position.
        let in_front = model
            .first
            .as_ref()
            .is_some_and(|first| types::key_shape(&first.typed.ty).is_some());
        if !options.unsure && !in_front {
            faults.push(Code::NoKey, &item.sig.ident, no_key(model));
        }
        return None;
    };
    let Some(name) = first.plain_name() else {
        faults.push(
            Code::NoKey,
            &first.typed.pat,
            "the key needs a name\nhelp: write `key: &IdempotencyKey`",
        );
        return None;
    };
    // The same name twice is one parameter under two `#[cfg]`s.
    let other = typed
        .iter()
        .skip(1)
        .find(|other| other.plain_name().is_none_or(|other| !same(other, name)));
    if let Some(other) = other {
        let help = match other.plain_name() {
            Some(second) => format!(
                "choose one: `key = {name}, skip({second})` or `key = {second}, skip({name})`"
            ),
            None => format!("write `key = {name}`"),
        };
        faults.push(
            Code::TwoKeys,
            &other.typed.ty,
            format_args!("two parameters are keys, but a call has only one\nhelp: {help}"),
        );
    }
    let optional = typed
        .iter()
        .any(|param| param.key == Some(KeyShape::Optional));
    if let (Some(option), false) = (options.key_required.given_as(false), optional) {
        faults.push(
            Code::Contradiction,
            option,
            format_args!(
                "the key can be absent only if its type says so: write `{name}: Option<IdempotencyKey>`, or remove `key_required`"
            ),
        );
    }
    Some(Found {
        source: KeyValue::Parameter(name),
        leaves: vec![name],
    })
}

fn no_key(model: &Model<'_>) -> String {
    let named = model.names().find(|name| {
        ["key", "idempotency_key", "request_id"]
            .iter()
            .any(|usual| *name == usual)
    });
    let help = match named {
        Some(name) => format!(
            "is it `{name}`? write `key = {name}`, or for a wrapper name its part: `key = {name}.0`; a parameter is recognised as the key only if its type is written `IdempotencyKey`"
        ),
        None => "add the parameter `key: &IdempotencyKey`, or say where the key comes from: `key = cmd.request_id, scope = cmd.tenant` or `key = natural(cmd.tenant, cmd.order)`".to_owned(),
    };
    format!("this handler has no idempotency key\nhelp: {help}")
}

/// Returns the name that an expression consists of, through references and parentheses.
fn plain_name(expr: &Expr) -> Option<&Ident> {
    match args::bare(expr) {
        Expr::Path(path) if path.qself.is_none() => path.path.get_ident(),
        Expr::Reference(reference) => plain_name(&reference.expr),
        _ => None,
    }
}
