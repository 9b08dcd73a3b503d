//! `idem hold`.

use idem_runtime::Scope;
use idem_runtime::operate::{OperateBackend, Operator};
use serde_json::{Value, json};

use super::change;
use crate::args::{Hold, Whose};
use crate::confirm::confirm;
use crate::fault::{Fault, Outcome};
use crate::view::{self, json_time, line, print_json, print_table};

pub(super) async fn run<DB: OperateBackend>(
    operator: &Operator<DB>,
    hold: Hold,
    is_json: bool,
) -> Result<Outcome, Fault> {
    match hold {
        Hold::List => return list(operator, is_json).await,
        Hold::Add { whose, sign } => {
            let (scope, author) = (scope(&whose)?, change::author(&sign)?);
            let prompt = format!(
                "Keep all records of the scope {}, past their retention too, until the hold is lifted?",
                view::scope(scope.as_str())
            );
            confirm(&prompt, sign.yes)?;
            operator.add_hold(&scope, &author).await?;
            said(&scope, true, is_json);
        }
        Hold::Lift { whose, sign } => {
            let (scope, author) = (scope(&whose)?, change::author(&sign)?);
            let prompt = format!(
                "Let the records of the scope {} go? THE NEXT PURGE DELETES THOSE PAST THEIR RETENTION.",
                view::scope(scope.as_str())
            );
            confirm(&prompt, sign.yes)?;
            operator.lift_hold(&scope, &author).await?;
            said(&scope, false, is_json);
        }
    }
    Ok(Outcome::Done)
}

fn scope(whose: &Whose) -> Result<Scope, Fault> {
    Ok(match &whose.scope {
        Some(scope) => Scope::new(scope.as_str())?,
        None => Scope::GLOBAL,
    })
}

fn said(scope: &Scope, held: bool, is_json: bool) {
    if is_json {
        print_json(&json!({ "scope": scope.as_str(), "held": held }));
    } else if held {
        line("held: no purge and no forget deletes what there is of the scope.");
    } else {
        line("lifted: the next purge deletes what is past its retention.");
    }
}

async fn list<DB: OperateBackend>(
    operator: &Operator<DB>,
    is_json: bool,
) -> Result<Outcome, Fault> {
    let holds = operator.holds().await?;
    if is_json {
        let holds = holds.iter().map(|hold| {
            json!({
                "scope": hold.scope,
                "at": json_time(Some(hold.at)),
                "actor": hold.actor,
                "reason": hold.reason,
            })
        });
        print_json(&holds.collect::<Value>());
        return Ok(Outcome::Done);
    }
    let rows = holds.iter().map(|hold| {
        [
            view::scope(&hold.scope),
            view::time(hold.at),
            hold.actor.clone(),
            hold.reason.clone(),
        ]
    });
    print_table(["SCOPE", "SINCE", "BY", "REASON"], rows, "no hold");
    Ok(Outcome::Done)
}
