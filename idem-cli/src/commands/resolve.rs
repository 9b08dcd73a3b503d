//! `idem resolve`.

use std::time::Duration;

use idem_runtime::StoredFailure;
use idem_runtime::operate::{OperateBackend, Operator, Resolution};
use serde_json::{Value, json};

use super::change;
use crate::args::{Name, Resolve, Sign};
use crate::confirm::confirm;
use crate::fault::{Fault, Outcome};
use crate::view::{line, print_json};

/// What was asked for.
struct Request {
    name: Name,
    sign: Sign,
    retention: Duration,
    resolution: Resolution,
    what: &'static str,
}

pub(super) async fn run<DB: OperateBackend>(
    operator: &Operator<DB>,
    resolve: Resolve,
    is_json: bool,
) -> Result<Outcome, Fault> {
    let Request {
        name,
        sign,
        retention,
        resolution,
        what,
    } = request(resolve)?;
    let author = change::author(&sign)?;
    let record = change::record(operator, &name).await?;
    let prompt = format!("{}. Record that {what}?", change::describe(&record));
    confirm(&prompt, sign.yes)?;
    operator
        .resolve_for(&record.summary, &resolution, &author, retention)
        .await?;
    if is_json {
        print_json(&json!({ "resolved": format!("{resolution:?}") }));
    } else {
        line(&format!("resolved: {what}."));
    }
    Ok(Outcome::Done)
}

fn request(resolve: Resolve) -> Result<Request, Fault> {
    Ok(match resolve {
        Resolve::Completed {
            name,
            result,
            result_version,
            kept,
            sign,
        } => Request {
            name,
            sign,
            retention: kept.retention,
            resolution: Resolution::Completed(result.into_bytes()).of_version(result_version),
            what: "it happened; every retry replays this result",
        },
        Resolve::Failed {
            name,
            class,
            message,
            data,
            failure_version,
            kept,
            sign,
        } => Request {
            name,
            sign,
            retention: kept.retention,
            resolution: Resolution::Failed(failure(class, message, data.as_deref())?)
                .of_version(failure_version),
            what: "it failed for good; every retry replays this failure",
        },
        Resolve::NeverHappened { name, kept, sign } => Request {
            name,
            sign,
            retention: kept.retention,
            resolution: Resolution::NeverHappened,
            what: "it never happened; the next caller runs the body",
        },
    })
}

fn failure(class: String, message: String, data: Option<&str>) -> Result<StoredFailure, Fault> {
    let failure = StoredFailure::new(class, message);
    let Some(data) = data else {
        return Ok(failure);
    };
    let data: Value = serde_json::from_str(data).map_err(|error| {
        Fault::usage(format!(
            "--data is not JSON, at line {}, column {}; nothing was changed",
            error.line(),
            error.column()
        ))
    })?;
    Ok(failure.with_data(data))
}
