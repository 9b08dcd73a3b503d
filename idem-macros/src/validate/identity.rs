//! The rules that tell operations and requests apart: a handler's name is unique, and every value
//! that two calls may differ in is compared.

use quote::ToTokens as _;
use syn::{Expr, Ident, Type};

use super::Compared;
use crate::args::{Fingerprint, Operation, Options};
use crate::diagnostic::{Code, Faults};
use crate::item::Item;
use crate::mention::{consists_of, determines, mentions};
use crate::method;
use crate::model::{Model, Param, same};
use crate::types;

pub(super) fn check(
    item: &Item,
    model: &Model<'_>,
    options: &Options,
    key: &[&Ident],
    compared: &[Compared<'_>],
    faults: &mut Faults,
) {
    let is_method = method::is_one(item, model, options);
    let known = Known {
        item,
        model,
        options,
        key,
        compared,
    };
    if is_method && !options.operation.is_given() && !options.unsure {
        let name = &item.sig.ident;
        faults.push(
            Code::MethodWithoutOperation,
            name,
            format_args!(
                "a method must name its operation: another type may have a `{name}` too, and one key would answer for both\nhelp: write `operation = \"order.{name}\"`, a name that no other handler of the namespace has"
            ),
        );
    }
    marker(options, is_method, faults);
    known.receiver(faults);
    for generic in &model.generics {
        known.generic(generic, faults);
    }
    for param in &model.rest {
        known.opaque(param, faults);
    }
    known.sets(faults);
}

/// Checks that a marker stands beside a free function with a constant operation.
fn marker(options: &Options, is_method: bool, faults: &mut Faults) {
    let (Some(name), Some(_)) = (&options.marker.name, &options.marker.value) else {
        return;
    };
    if is_method {
        faults.push(
            Code::Marker,
            name,
            "a marker is a type beside the handler, and a type cannot stand beside a method\nhelp: make the handler a free function that takes the receiver as a parameter, or remove `marker`",
        );
    }
    if let Some(Operation::Computed(_)) = &options.operation.value {
        faults.push(
            Code::Marker,
            name,
            "a marker describes its operation in a constant, and this one's name is known only at each call\nhelp: write the name as a literal, `operation = \"payment.create\"`, or remove `marker`",
        );
    }
}

/// What is known about a call before its body runs.
struct Known<'k> {
    item: &'k Item,
    model: &'k Model<'k>,
    options: &'k Options,
    /// The parameters that make up the key: another value is another key.
    key: &'k [&'k Ident],
    compared: &'k [Compared<'k>],
}

impl Known<'_> {
    fn projection(&self) -> Option<&Expr> {
        match &self.options.fingerprint.value {
            Some(Fingerprint::Projection(projection)) => Some(projection),
            _ => None,
        }
    }

    fn is_skipped(&self, name: &Ident) -> bool {
        let skip = self.options.skip.value.iter().flatten();
        skip.into_iter().any(|skipped| same(skipped, name))
    }

    /// Returns whether the fingerprint or the operation's name is an expression that uses a name.
    fn is_used(&self, name: &Ident) -> bool {
        let operation = match &self.options.operation.value {
            Some(Operation::Computed(expr)) => Some(expr),
            _ => None,
        };
        let mut used = self.projection().into_iter().chain(operation);
        used.any(|expr| mentions(expr.to_token_stream(), name))
    }

    /// Returns whether two values of the parameter can be told apart: it is the key, or it is
    /// compared.
    fn is_told(&self, param: &Param<'_>) -> bool {
        param.names.iter().any(|name| {
            let is = |other: &Ident| same(other, name);
            self.key.iter().copied().any(is)
                || self.compared.iter().any(|compared| is(compared.name))
                || self
                    .projection()
                    .is_some_and(|expr| mentions(expr.to_token_stream(), name))
        })
    }

    fn receiver(&self, faults: &mut Faults) {
        let Some(receiver) = self.model.receiver else {
            return;
        };
        let name = Ident::new("self", receiver.self_token.span);
        // The fingerprint is faulty, or says that nothing is compared.
        let decided = self.options.fingerprint.is_given() && self.projection().is_none();
        if decided || self.is_skipped(&name) || self.options.skip_is_faulty() {
            return;
        }
        if self
            .projection()
            .is_some_and(|expr| mentions(expr.to_token_stream(), &name))
        {
            return;
        }
        let others = self.compared.iter().map(|compared| compared.name);
        let mut parts: Vec<String> = others.map(ToString::to_string).collect();
        if self.projection().is_some() {
            parts.push("..".to_owned());
        }
        let parts = if parts.is_empty() {
            "self.id,".to_owned()
        } else {
            format!("self.id, {}", parts.join(", "))
        };
        faults.push(
            Code::UncomparedReceiver,
            receiver,
            format_args!(
                "the receiver is not compared, so the same call on another value would be a retry of this one\nhelp: write `skip(self)` if it is no part of the request (a service, a client), or compare what tells it from others: `fingerprint = ({parts})`"
            ),
        );
    }

    /// Checks a type or const parameter: two calls that differ only in it must be two operations.
    fn generic(&self, name: &Ident, faults: &mut Faults) {
        let mut distinguished = self.model.rest.iter().filter(|param| self.is_told(param));
        if self.is_skipped(name)
            || self.is_used(name)
            || self.options.skip_is_faulty()
            || distinguished.any(|param| determines(&param.typed.ty, name))
            || self.is_database(name)
        {
            return;
        }
        let function = &self.item.sig.ident;
        let mut consts = self.item.sig.generics.const_params();
        let name_of_each = if consts.any(|own| own.ident == *name) {
            format!("format!(\"{function}-{{{name}}}\")")
        } else {
            format!("format!(\"{function}-{{}}\", {name}::NAME)")
        };
        faults.push(
            Code::UncomparedGeneric,
            name,
            format_args!(
                "no compared parameter determines `{name}`, so calls that differ only in it would be one operation\nhelp: give each an operation of its own, `operation = {name_of_each}`, or write `skip({name})` if nothing depends on it"
            ),
        );
    }

    /// Returns whether a parameter is the transaction's database: each database keeps its own
    /// records.
    fn is_database(&self, name: &Ident) -> bool {
        let first = self.model.first.as_ref();
        let Some(transaction) = first.and_then(|first| types::last_segment(first.transaction()?))
        else {
            return false;
        };
        let is = |ty: &Type| matches!(ty, Type::Path(path) if path.path.is_ident(name));
        transaction.ident == "Transaction" && types::type_arguments(transaction).any(is)
    }

    /// Checks an `impl Trait` parameter, which is a type parameter without a name.
    fn opaque(&self, param: &Param<'_>, faults: &mut Faults) {
        let mut names = param.names.iter();
        if !types::has_impl_trait(&param.typed.ty)
            || self.is_told(param)
            || names.any(|name| self.is_skipped(name) || self.is_used(name))
            || self.options.skip_is_faulty()
        {
            return;
        }
        let help = match param.names.first() {
            Some(name) => format!("write `skip({name})` if nothing depends on it"),
            None => "give it a name, so that it is compared, or left out by `skip(..)`".to_owned(),
        };
        faults.push(
            Code::UncomparedGeneric,
            &param.typed.ty,
            format_args!(
                "this parameter is not compared, so calls that differ only in its type would be one operation\nhelp: {help}"
            ),
        );
    }

    /// Checks that no set is compared as written: its order differs in every process.
    fn sets(&self, faults: &mut Faults) {
        let is_compared = |name: &Ident| {
            self.compared
                .iter()
                .any(|compared| same(compared.name, name))
                || self
                    .projection()
                    .is_some_and(|expr| consists_of(expr, name))
        };
        let compared = self.model.rest.iter();
        let compared = compared.filter(|param| param.names.iter().any(|name| is_compared(name)));
        for set in compared.filter_map(|param| types::unordered_set(&param.typed.ty)) {
            let name = types::name(set)
                .map(ToString::to_string)
                .unwrap_or_default();
            faults.push(
                Code::UnorderedSet,
                set,
                format_args!(
                    "a `{name}` has a different order in each process, and its order is compared: a retry would be refused as another request\nhelp: take a `BTreeSet`, or a sorted `Vec`; or compare it by an expression that sorts it, `fingerprint = (cmd.id, sorted(&tags))`"
                ),
            );
        }
    }
}
