//! The rules of `authorize` and `on_replay`, which are given the handler's parameters.

use syn::Ident;

use crate::args::Options;
use crate::diagnostic::{Code, Faults};
use crate::model::{Model, Param, cfgs};

/// Checks that a replay can be shown to a function of the user's: outside any transaction, with every parameter.
pub(super) fn check(model: &Model<'_>, options: &Options, faults: &mut Faults) {
    let names = [&options.authorize.name, &options.on_replay.name];
    let Some(first) = names.into_iter().flatten().next() else {
        return;
    };
    if let Some(keep) = options.keeps_signature.given_as(true) {
        faults.push(
            Code::Contradiction,
            first,
            format_args!(
                "with `{keep} = \"keep\"` the caller's transaction is open when a replay is answered, and `{first}` is called outside any\nhelp: remove `{keep}`, or check the result after the call"
            ),
        );
    }
    for param in &model.rest {
        parameter(param, first, faults);
    }
}

/// Checks that a parameter can be handed over by its name.
fn parameter(param: &Param<'_>, option: &Ident, faults: &mut Faults) {
    if param.plain_name().is_none() {
        faults.push(
            Code::Review,
            &param.typed.pat,
            format_args!(
                "`{option}` is given each parameter as a whole, and this one has no name\nhelp: give it a name here, and take it apart in the body"
            ),
        );
    } else if let Some(cfg) = cfgs(&param.typed.attrs).first() {
        faults.push(
            Code::Review,
            cfg,
            format_args!(
                "`{option}` is given each parameter, so none may depend on a `cfg`\nhelp: write two handlers, each under its `cfg`"
            ),
        );
    }
}
