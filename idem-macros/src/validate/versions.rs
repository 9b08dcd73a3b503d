//! The rules of versions: what is written can be read, and what is read was written.

use crate::args::{Upcast, Versions};
use crate::diagnostic::{Code, Faults};

/// Reports the faults of the options about versions.
///
/// The attribute and the derive name the version differently, and the messages use the name that was written.
pub(crate) fn check(versions: &Versions, faults: &mut Faults) {
    let Some(name) = &versions.version.name else {
        return without_version(versions, faults);
    };
    // A faulty version is reported already.
    let Some(version) = versions.version.value else {
        return;
    };
    upcast(versions, version, name, faults);
    if versions.upcast.is_given() && versions.upcast.value.is_none() {
        return;
    }
    written(versions, version, name, faults);
}

fn without_version(versions: &Versions, faults: &mut Faults) {
    for name in [
        &versions.upcast.name,
        &versions.written.name,
        &versions.downcast.name,
    ]
    .into_iter()
    .flatten()
    {
        faults.push(
            Code::Contradiction,
            name,
            format_args!(
                "there is only version 1, so `{name}` has no meaning\nhelp: say which version this build has: `result_version = 2` (`version = 2` in `#[failure(..)]`)"
            ),
        );
    }
}

fn upcast(versions: &Versions, version: u16, name: &syn::Ident, faults: &mut Faults) {
    let older = usize::from(version) - 1;
    match &versions.upcast.value {
        None if older == 0 || versions.upcast.is_given() => {}
        None => faults.push(
            Code::Contradiction,
            name,
            format_args!(
                "every retry of a call that version {older} recorded would be refused\nhelp: add `upcast = path`, a function from what version {older} recorded to the present type; or `upcast = off` once no such record is left"
            ),
        ),
        Some(Upcast::Off) if older == 0 => faults.push(
            Code::Contradiction,
            &versions.upcast.name,
            "version 1 has no older one: remove `upcast`",
        ),
        Some(Upcast::Steps(steps)) if steps.len() > older => {
            let are = if older == 1 { "version" } else { "versions" };
            faults.push(
                Code::Contradiction,
                &steps[0],
                format_args!(
                    "`{name} = {version}` has {older} older {are}, and there is a function for {}\nhelp: each function converts one version to the next, the last one to the handler's own type",
                    steps.len()
                ),
            );
        }
        Some(_) => {}
    }
}

fn written(versions: &Versions, version: u16, name: &syn::Ident, faults: &mut Faults) {
    if let Some(written) = versions.written.value {
        let steps = versions
            .upcast
            .value
            .as_ref()
            .map_or(0, |upcast| upcast.steps().len());
        let oldest = usize::from(version).saturating_sub(steps);
        if written > version {
            faults.push(
                Code::Contradiction,
                &versions.written.name,
                format_args!(
                    "version {written} is newer than `{name} = {version}`, which this build knows\nhelp: raise `{name}`, or write at most {version}"
                ),
            );
        } else if usize::from(written) < oldest && (versions.upcast.value.is_some() || version == 1)
        {
            faults.push(
                Code::Contradiction,
                &versions.written.name,
                format_args!(
                    "this build reads version {oldest} to {version} and could not read what it writes\nhelp: add the function that reads version {written} to `upcast`"
                ),
            );
        }
    }
    let Some(downcast) = &versions.downcast.name else {
        return;
    };
    let writes_older = versions
        .written
        .value
        .is_some_and(|written| written < version);
    if !writes_older && (versions.written.value.is_some() || !versions.written.is_given()) {
        faults.push(
            Code::Contradiction,
            downcast,
            "the present version is written as it is, so nothing is converted down\nhelp: remove `downcast`, or write an older version: `write_version = 1`",
        );
    }
}
