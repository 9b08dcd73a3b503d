//! The rules of lease mode: the handler runs outside any transaction, detached from its caller.

use syn::{FnArg, Receiver, ReceiverKind, Type};

use crate::args::Options;
use crate::diagnostic::{Code, Faults};
use crate::item::Item;
use crate::model::{First, Model};
use crate::types;

/// Checks the options that differ from those of atomic mode.
pub(super) fn options(options: &Options, faults: &mut Faults) {
    let Some(lease) = &options.lease.name else {
        if let Some(name) = &options.unknown_on_lapse.name {
            faults.push(
                Code::Contradiction,
                name,
                "`on_lapse` applies only to a lease: add `lease = \"5m\"`, or remove `on_lapse`",
            );
        }
        return;
    };
    if let Some(name) = options.keeps_signature.given_as(true) {
        faults.push(
            Code::Contradiction,
            name,
            format_args!(
                "with `{lease}` there is no transaction to keep in the signature: remove `{name}`"
            ),
        );
    }
    if let Some(name) = options.key_required.given_as(false) {
        faults.push(
            Code::Contradiction,
            name,
            format_args!(
                "the `{lease}` is held on the key, so every call needs a key: remove `{name}`"
            ),
        );
    }
    if let Some(name) = options.record_request.given_as(true) {
        faults.push(
            Code::Contradiction,
            name,
            format_args!(
                "a `{lease}` always keeps the request, which an unknown outcome is settled by: remove `{name}`"
            ),
        );
    }
}

/// Checks the parameters of a leased handler.
pub(super) fn signature(item: &Item, model: &Model<'_>, faults: &mut Faults) {
    match &model.first {
        Some(first) if types::attempt(&first.typed.ty).is_some() => {}
        Some(first) => faults.push(
            Code::LeasedWithoutAttempt,
            &first.typed.ty,
            format_args!(
                "the first parameter of a leased handler is its attempt\nhelp: {}",
                no_attempt(first, model)
            ),
        ),
        None => faults.push(
            Code::LeasedWithoutAttempt,
            &item.sig.ident,
            "the first parameter of a leased handler is its attempt\nhelp: add `attempt: &Attempt`",
        ),
    }
    if let Some(FnArg::Receiver(receiver)) = item.sig.inputs.first()
        && borrows_itself(receiver)
    {
        faults.push(
            Code::LeasedBorrow,
            receiver,
            "a leased handler runs detached from its caller and cannot borrow: write `self: Arc<Self>`",
        );
    }
    let owned = model
        .rest
        .iter()
        .filter(|param| param.key.is_none() && types::attempt(&param.typed.ty).is_none());
    for borrow in owned.filter_map(|param| types::borrow(&param.typed.ty)) {
        faults.push(
            Code::LeasedBorrow,
            borrow,
            "a leased handler runs detached from its caller and cannot borrow: take this by value, or in an `Arc`",
        );
    }
}

fn borrows_itself(receiver: &Receiver) -> bool {
    match &receiver.kind {
        ReceiverKind::Reference(..) => true,
        ReceiverKind::Typed(_, ty) => types::borrow(ty).is_some(),
        _ => false,
    }
}

fn names_attempt(ty: &Type) -> bool {
    types::name(ty).is_some_and(|name| name == "Attempt")
}

fn no_attempt(first: &First<'_>, model: &Model<'_>) -> String {
    let later = model
        .rest
        .iter()
        .find(|param| types::attempt(&param.typed.ty).is_some());
    if let Some(name) = later.and_then(|param| param.plain_name()) {
        return format!("move `{name}` to the front");
    }
    let inner = match types::bare(&first.typed.ty) {
        Type::Reference(reference) => types::bare(&reference.elem),
        other => other,
    };
    if names_attempt(inner) {
        return "it is taken by shared reference: write `&Attempt`".to_owned();
    }
    if types::name(inner).is_some_and(|name| name.to_string().contains("Transaction")) {
        return "a leased handler has no transaction, because its effects are outside the database: write `attempt: &Attempt` in its place".to_owned();
    }
    "write `attempt: &Attempt` before this parameter".to_owned()
}
