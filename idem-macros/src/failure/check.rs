//! The rules of `#[derive(Failure)]` that concern more than one word.

use syn::ext::IdentExt as _;
use syn::{DeriveInput, Field, Fields, Ident, Type, Variant};

use super::read::{Attributes, Words};
use crate::diagnostic::{Code, Faults};
use crate::types;
use crate::validate::versions;

/// An enum without faults.
pub(super) struct FailurePlan<'i> {
    pub(super) permanent: Vec<Permanent<'i>>,
    pub(super) transient: Vec<&'i Ident>,
    pub(super) replayed: (&'i Ident, &'i Field),
}

/// A variant that is recorded.
pub(super) struct Permanent<'i> {
    pub(super) variant: &'i Ident,
    pub(super) class: String,
    /// `None` if the fields are not recorded; the variant then comes back as the replayed variant.
    pub(super) fields: Option<&'i Fields>,
}

/// Reports all faults. Returns `None` if there is no variant for replayed failures.
pub(super) fn plan<'i>(
    input: &'i DeriveInput,
    attributes: &Attributes<'i>,
    faults: &mut Faults,
) -> Option<FailurePlan<'i>> {
    let runtime = attributes
        .runtime
        .value
        .as_ref()
        .and_then(|path| path.segments.last())
        .map(|segment| &segment.ident);
    let mut plan = (Vec::new(), Vec::new(), None);
    for words in &attributes.variants {
        if !words.unsure {
            contradictions(words, faults);
        }
        let name = &words.variant.ident;
        if words.replayed.is_given() {
            replayed(words, &mut plan.2, faults);
        } else if words.permanent.is_given() {
            if !words.unsure {
                database(words, runtime, faults);
                borrowed(words, faults);
            }
            plan.0.push(Permanent {
                variant: name,
                class: class(words),
                fields: (!words.database.is_given()).then_some(&words.variant.fields),
            });
        } else {
            plan.1.push(name);
        }
    }
    classes(attributes, faults);
    versions::check(&attributes.versions, faults);
    if !attributes.unsure {
        missing(input, plan.0.is_empty(), plan.2.is_none(), faults);
    }
    Some(FailurePlan {
        permanent: plan.0,
        transient: plan.1,
        replayed: plan
            .2
            .and_then(|variant| Some((&variant.ident, variant.fields.iter().next()?)))?,
    })
}

fn class(words: &Words<'_>) -> String {
    match &words.class.value {
        Some(class) => class.value(),
        None => words.variant.ident.unraw().to_string(),
    }
}

fn contradictions(words: &Words<'_>, faults: &mut Faults) {
    let others = [&words.class.name, &words.database.name];
    if words.replayed.is_given() {
        for name in others.into_iter().chain([&words.permanent.name]).flatten() {
            faults.push(
                Code::Contradiction,
                name,
                format_args!(
                    "the variant for replayed failures is recorded as the failure that it holds: remove `{name}`"
                ),
            );
        }
    } else if !words.permanent.is_given() {
        for name in others.into_iter().flatten() {
            faults.push(
                Code::Contradiction,
                name,
                format_args!(
                    "only a permanent failure is recorded: write `permanent` before `{name}`, or remove it"
                ),
            );
        }
    }
}

/// Checks the variant for failures that come back as stored: there is one, with one field.
fn replayed<'i>(words: &Words<'i>, found: &mut Option<&'i Variant>, faults: &mut Faults) {
    let variant = words.variant;
    if let Some(first) = found {
        faults.push(
            Code::ReplayedVariant,
            &words.replayed.name,
            format_args!(
                "`{}` is the variant for replayed failures already: remove one `replayed`",
                first.ident
            ),
        );
        return;
    }
    if variant.fields.len() != 1 {
        faults.push(
            Code::ReplayedShape,
            variant.ident.clone(),
            format_args!(
                "the variant for replayed failures holds what was stored, and nothing else\nhelp: write `{}(StoredFailure)`",
                variant.ident
            ),
        );
    }
    *found = Some(variant);
}

/// Checks that no permanent variant holds a database error: it may be transient, and a recorded
/// failure is final.
fn database(words: &Words<'_>, runtime: Option<&Ident>, faults: &mut Faults) {
    let held = words
        .variant
        .fields
        .iter()
        .find_map(|field| database_error(&field.ty, runtime));
    match (held, &words.database.name) {
        (Some(ty), None) => faults.push(
            Code::DatabaseFailure,
            ty,
            "a database error may be transient (a deadlock, a lost connection), but a recorded failure is final\nhelp: remove `permanent`; or say that this variant is made only from errors that no retry can fix: `#[failure(permanent, database)]`",
        ),
        (None, Some(name)) => faults.push(
            Code::Contradiction,
            name,
            "no field here is a database error: remove `database`",
        ),
        _ => {}
    }
}

fn borrowed(words: &Words<'_>, faults: &mut Faults) {
    let fields = words.variant.fields.iter().map(|field| &field.ty);
    for reference in fields.filter_map(types::reference) {
        faults.push(
            Code::BorrowedField,
            reference,
            "a recorded failure outlives its request, so it cannot hold a reference\nhelp: hold an owned value, such as `String` for `&str`",
        );
    }
}

/// Returns the type, or the part of it, that is spelled like a database error.
fn database_error<'t>(ty: &'t Type, runtime: Option<&Ident>) -> Option<&'t Type> {
    let segments = match types::bare(ty) {
        Type::Path(path) => &path.path.segments,
        Type::TraitObject(object) => {
            return object
                .bounds
                .iter()
                .any(|bound| match bound {
                    syn::TypeParamBound::Trait(bound) => bound
                        .path
                        .segments
                        .last()
                        .is_some_and(|last| last.ident == "DatabaseError"),
                    _ => false,
                })
                .then_some(ty);
        }
        _ => return None,
    };
    let last = segments.last()?;
    let of_a_library = segments.iter().any(|segment| {
        segment.ident == "sqlx"
            || segment.ident == "idem_runtime"
            || runtime.is_some_and(|runtime| segment.ident == *runtime)
    });
    if last.ident == "DatabaseError" || last.ident == "Error" && of_a_library {
        return Some(ty);
    }
    types::type_arguments(last).find_map(|inner| database_error(inner, runtime))
}

fn classes(attributes: &Attributes<'_>, faults: &mut Faults) {
    let permanent = || {
        attributes
            .variants
            .iter()
            .filter(|words| words.permanent.is_given() && !words.replayed.is_given())
    };
    for (position, words) in permanent().enumerate() {
        let name = class(words);
        let Some(first) = permanent()
            .take(position)
            .find(|other| class(other) == name)
        else {
            continue;
        };
        let message = format!(
            "`{}` has the class `{name}` already: a replay could not tell them apart\nhelp: write another `class = \"…\"` for one of them",
            first.variant.ident
        );
        match &words.class.value {
            Some(literal) => faults.push(Code::DuplicateClass, literal, message),
            None => faults.push(Code::DuplicateClass, &words.variant.ident, message),
        }
    }
}

fn missing(input: &DeriveInput, permanent: bool, replayed: bool, faults: &mut Faults) {
    if replayed {
        faults.push(
            Code::ReplayedVariant,
            &input.ident,
            format_args!(
                "`{}` has no variant for a recorded failure whose class this build does not know\nhelp: add `#[failure(replayed)] Recorded(StoredFailure)`; with thiserror, `#[error(\"{{}}\", .0.message)]` above it",
                input.ident
            ),
        );
    }
    if permanent {
        faults.push(
            Code::NothingPermanent,
            &input.ident,
            format_args!(
                "no variant of `{}` is permanent, so nothing would ever be recorded\nhelp: write `#[failure(permanent)]` above each variant that no retry can fix",
                input.ident
            ),
        );
    }
}
