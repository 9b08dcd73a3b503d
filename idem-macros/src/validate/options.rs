//! Options that are missing or contradict each other.

use syn::Ident;

use super::stands_for_no_value;
use crate::args::{Fingerprint, Options};
use crate::diagnostic::{Code, Faults};
use crate::model::{Model, same};
use crate::types;

pub(super) fn check(model: &Model<'_>, options: &Options, faults: &mut Faults) {
    if !options.namespace.is_given() && !options.unsure {
        faults.push(
            Code::NoNamespace,
            proc_macro2::TokenStream::new(),
            "`#[idempotent]` needs the name of the key space\nhelp: write `#[idempotent(namespace = \"payments\")]`",
        );
    }
    contradictions(model, options, faults);
}

/// Returns whether every skipped name is a receiver or a generic parameter; those may be skipped
/// beside any fingerprint.
fn skips_no_value(model: &Model<'_>, options: &Options) -> bool {
    let is_opaque = |name: &Ident| {
        model.rest.iter().any(|param| {
            types::has_impl_trait(&param.typed.ty)
                && param.names.iter().any(|bound| same(bound, name))
        })
    };
    let mut skip = options.skip.value.iter().flatten();
    options.skip.value.is_some()
        && skip.all(|name| stands_for_no_value(model, name) || is_opaque(name))
}

fn contradictions(model: &Model<'_>, options: &Options, faults: &mut Faults) {
    if let Some(name) = &options.wait.name {
        let complaint = if !options.waits.is_given() {
            Some("a duplicate does not wait unless you also write `on_conflict = \"wait\"`")
        } else if options.waits.given_as(false).is_some() {
            Some(
                "`on_conflict = \"reject\"` does not wait: write `on_conflict = \"wait\"` or remove `wait`",
            )
        } else {
            None
        };
        if let Some(complaint) = complaint {
            faults.push(Code::Contradiction, name, complaint);
        }
    }
    if let Some(fingerprint) = &options.fingerprint.value {
        if let Some(name) = &options.skip.name
            && !skips_no_value(model, options)
        {
            let complaint = match fingerprint {
                Fingerprint::Off => {
                    "`fingerprint = off` compares nothing, so there is nothing to skip: remove one of them"
                }
                Fingerprint::Projection(_) => {
                    "`fingerprint = ..` already says everything that is compared: remove `skip`"
                }
            };
            faults.push(Code::Contradiction, name, complaint);
        }
        if let (Fingerprint::Off, Some(name)) = (fingerprint, options.record_request.given_as(true))
        {
            faults.push(
                Code::Contradiction,
                name,
                "`fingerprint = off` leaves no request to record: remove one of them",
            );
        }
    }
}
