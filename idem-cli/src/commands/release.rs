//! `idem release`.

use idem_runtime::operate::{OperateBackend, Operator, Released};
use serde_json::json;

use super::change;
use crate::args::{Name, Sign};
use crate::confirm::confirm;
use crate::fault::{Fault, Outcome};
use crate::view::{line, print_json};

pub(super) async fn run<DB: OperateBackend>(
    operator: &Operator<DB>,
    name: &Name,
    sign: &Sign,
    is_json: bool,
) -> Result<Outcome, Fault> {
    let author = change::author(sign)?;
    let record = change::record(operator, name).await?;
    let prompt = format!(
        "{}. Release it? THE NEXT CALLER RUNS THE BODY: if the effect has happened, it happens twice.",
        change::describe(&record)
    );
    confirm(&prompt, sign.yes)?;
    let released = operator.release(&record.summary, &author).await?;
    if is_json {
        print_json(
            &json!({ "released": released == Released::Record, "deleted": released == Released::Deleted }),
        );
    } else {
        line("released: the next caller runs the body.");
    }
    Ok(Outcome::Done)
}
