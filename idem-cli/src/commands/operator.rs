//! `idem operator`.

use crate::args::OperatorArgs;
use crate::fault::{Fault, Outcome};
use crate::operators::{draw, listed};
use crate::view::{line, print_json};

pub(super) fn run(args: &OperatorArgs, is_json: bool) -> Result<Outcome, Fault> {
    let OperatorArgs {
        name,
        change,
        reveal,
    } = args;
    let token = draw();
    let listed = listed(name, *change, *reveal, &token)?;
    if is_json {
        print_json(&serde_json::json!({ "name": name, "token": token, "line": listed }));
    } else {
        line(&format!("token of {name}, shown once: {token}"));
        line(&format!("line for the file of operators: {listed}"));
    }
    Ok(Outcome::Done)
}
