//! `idem forget`.

use idem_runtime::Scope;
use idem_runtime::operate::{OperateBackend, Operator};
use serde_json::json;

use super::change;
use crate::args::Sign;
use crate::confirm::confirm;
use crate::fault::{Fault, Outcome};
use crate::view::{line, print_json};

pub(super) async fn run<DB: OperateBackend>(
    operator: &Operator<DB>,
    scope: &str,
    sign: &Sign,
    is_json: bool,
) -> Result<Outcome, Fault> {
    let author = change::author(sign)?;
    let scope = Scope::new(scope)?;
    let found = operator.count_scope(&scope).await?;
    let prompt = format!(
        "The scope has final records: {}, in progress: {}, of unknown outcome: {}. Delete the final ones? RETRIES OF THEM RUN \
         THE BODY AGAIN. The outbox, idem_audit and idem_archive keep what they have.",
        found.records, found.in_progress, found.unknown
    );
    confirm(&prompt, sign.yes)?;
    let forgotten = operator.forget(&scope, &author).await?;
    if is_json {
        print_json(&json!({ "deleted": forgotten.records }));
    } else {
        line(&format!("records deleted: {}", forgotten.records));
    }
    Ok(Outcome::Done)
}
