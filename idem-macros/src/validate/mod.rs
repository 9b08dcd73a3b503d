//! The rules that concern more than one token: the handler and its options taken together.

mod identity;
mod key;
mod lease;
mod options;
mod pool;
mod review;
mod signature;
pub(crate) mod versions;
mod web;

use syn::{Attribute, Expr, Ident, Type};

use crate::args::Options;
use crate::diagnostic::{Code, Faults};
use crate::item::Item;
use crate::model::{Model, Param, cfgs, same};
use crate::nearest;
use crate::types;

pub(crate) use self::pool::Pool;
pub(crate) use self::signature::{is_async_trait, is_cache};

/// A handler without faults.
pub(crate) struct Plan<'i> {
    pub(crate) handle: Handle<'i>,
    /// The type of the handler's own result.
    pub(crate) result: &'i Type,
    pub(crate) key: KeyValue<'i>,
    /// The values that a retry must repeat; empty with `fingerprint = ..`.
    pub(crate) compared: Vec<Compared<'i>>,
    /// The values that make the request: those, and what of the key is in it.
    pub(crate) requested: Vec<Compared<'i>>,
    pub(crate) pools: Vec<Pool<'i>>,
}

/// The first value that the body gets; holds the type behind its reference.
pub(crate) enum Handle<'i> {
    Transaction(&'i Type),
    /// Lease mode.
    Attempt(&'i Type),
}

pub(crate) enum KeyValue<'i> {
    Parameter(&'i Ident),
    Given(&'i Expr),
    Natural(&'i [Expr]),
}

/// A compared name, with the type of its parameter for underlining.
pub(crate) struct Compared<'i> {
    pub(crate) name: &'i Ident,
    pub(crate) ty: &'i Type,
    pub(crate) cfgs: Vec<&'i Attribute>,
}

/// Reports all faults. Returns `None` if the handler cannot be expanded.
pub(crate) fn plan<'i>(
    item: &'i Item,
    model: &'i Model<'i>,
    options: &'i Options,
    faults: &mut Faults,
) -> Option<Plan<'i>> {
    options::check(model, options, faults);
    lease::options(options, faults);
    if web::is_axum_handler(model, faults) {
        return None;
    }
    signature::check(item, model, options, faults);
    review::check(model, options, faults);
    versions::check(&options.versions, faults);
    let key = key::find(item, model, options, faults);
    let (key, leaves) = match key {
        Some(key) => (Some(key.source), key.leaves),
        None => (None, Vec::new()),
    };
    let compared = compared(model, options, &leaves, faults);
    identity::check(item, model, options, &leaves, &compared, faults);
    let pools = pool::find(model, options, faults);
    let first = model.first.as_ref()?;
    Some(Plan {
        handle: if options.lease.is_given() {
            Handle::Attempt(types::attempt(&first.typed.ty)?)
        } else {
            Handle::Transaction(first.transaction()?)
        },
        result: model.output.result()?,
        key: key?,
        compared,
        requested: requested(model, options),
        pools,
    })
}

/// Returns the names that parameters bind, without the key and the skipped names.
fn compared<'i>(
    model: &'i Model<'i>,
    options: &Options,
    leaves: &[&Ident],
    faults: &mut Faults,
) -> Vec<Compared<'i>> {
    let skip = options.skip.value.as_deref().unwrap_or_default();
    for (position, name) in skip.iter().enumerate() {
        if skip[..position].iter().any(|earlier| same(earlier, name)) {
            faults.push(
                Code::Skip,
                name,
                format_args!("`{name}` is skipped twice: remove one"),
            );
        } else if let Some(message) = misplaced(name, model, leaves) {
            faults.push(Code::Skip, name, message);
        }
    }
    if options.fingerprint.value.is_some() {
        return Vec::new();
    }
    let skipped = |name: &Ident| {
        skip.iter()
            .chain(leaves.iter().copied())
            .any(|left| same(left, name))
    };
    bound(&model.rest)
        .filter(|compared| !skipped(compared.name))
        .collect()
}

/// Returns the names that parameters bind, without keys and the skipped names.
fn requested<'i>(model: &'i Model<'i>, options: &Options) -> Vec<Compared<'i>> {
    let skip = options.skip.value.as_deref().unwrap_or_default();
    let typed = model.rest.iter().filter(|param| param.key.is_none());
    bound(typed)
        .filter(|requested| !skip.iter().any(|skipped| same(skipped, requested.name)))
        .collect()
}

/// Returns the names that these parameters bind.
fn bound<'i>(
    params: impl IntoIterator<Item = &'i Param<'i>>,
) -> impl Iterator<Item = Compared<'i>> {
    params.into_iter().flat_map(|param| {
        param.names.iter().map(|name| Compared {
            name,
            ty: &param.typed.ty,
            cfgs: cfgs(&param.typed.attrs),
        })
    })
}

/// Returns whether a name in `skip` is the receiver's or that of a type or const parameter.
fn stands_for_no_value(model: &Model<'_>, name: &Ident) -> bool {
    name == "self" && model.receiver.is_some()
        || model.generics.iter().any(|generic| same(generic, name))
}

/// Returns why a name in `skip` has no effect.
fn misplaced(name: &Ident, model: &Model<'_>, leaves: &[&Ident]) -> Option<String> {
    if leaves.iter().any(|left| same(left, name)) {
        return Some(format!(
            "`{name}` is the key, which is not compared: remove it from `skip`"
        ));
    }
    if model.names().any(|known| same(known, name)) || stands_for_no_value(model, name) {
        return None;
    }
    if name == "self" {
        return Some("there is no receiver to skip: remove `self`".to_owned());
    }
    let is_attempt = model
        .first
        .as_ref()
        .is_some_and(|first| types::attempt(&first.typed.ty).is_some());
    let is_first = model.first.as_ref().is_some_and(|first| {
        crate::pattern::names(&first.typed.pat)
            .iter()
            .any(|first| same(first, name))
    });
    if is_first {
        let first = if is_attempt { "attempt" } else { "transaction" };
        return Some(format!(
            "`{name}` is the {first}, which is not compared: remove it from `skip`"
        ));
    }
    let known: Vec<String> = model
        .names()
        .filter(|known| !leaves.iter().any(|left| same(left, known)))
        .map(ToString::to_string)
        .collect();
    let help = match nearest::nearest(&name.to_string(), known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "there is nothing to skip: remove the option".to_owned(),
        None => format!("the names that can be skipped are `{}`", known.join("`, `")),
    };
    Some(format!(
        "no parameter binds the name `{name}`\nhelp: {help}"
    ))
}
