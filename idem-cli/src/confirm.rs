//! Asks before something is changed.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use crate::fault::Fault;

/// Returns if the operator agrees. `what` says what will be changed, and what follows from it.
///
/// # Errors
/// A refusal if the operator does not agree; a fault of usage if there is nobody to ask.
pub(crate) fn confirm(what: &str, yes: bool) -> Result<(), Fault> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(Fault::usage(format!(
            "{what} There is no terminal to ask at; nothing was changed"
        ))
        .mend("add --yes"));
    }
    eprint!("{what}\nType yes to go on: ");
    let mut answer = String::new();
    let read = io::stderr()
        .flush()
        .and_then(|()| io::stdin().lock().read_line(&mut answer));
    match read {
        Ok(_) if answer.trim() == "yes" => Ok(()),
        _ => Err(Fault::refused("not confirmed; nothing was changed")),
    }
}
