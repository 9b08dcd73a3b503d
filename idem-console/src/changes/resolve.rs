//! Settles an outcome that nobody knows.

use std::num::NonZeroU16;

use idem_runtime::StoredFailure;
use idem_runtime::operate::Resolution;

use super::as_shown;
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::fields::Fields;
use crate::pages::text::record_path;
use crate::site::Visit;

pub(crate) async fn change<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<String, Fault> {
    let author = visit.author()?;
    let resolution = resolution(&visit.fields)?;
    let record = as_shown(&visit).await?;
    let operator = &visit.site.operator;
    operator.resolve(&record, &resolution, &author).await?;
    Ok(format!("{}&done=resolved", record_path(&record.record_key)))
}

fn resolution(fields: &Fields) -> Result<Resolution, Fault> {
    match fields.get("outcome") {
        "completed" => {
            let missing = || {
                Fault::bad("The result is missing. Nothing was changed.")
                    .mend("Give the result as JSON, as the handler would have returned it; null if it returns none.")
            };
            let result = fields.filled("result").ok_or_else(missing)?;
            Ok(Resolution::Completed(result.as_bytes().to_vec()).of_version(version(fields)?))
        }
        "failed" => {
            let missing = |what: &str| {
                let sentence =
                    format!("The {what} of the failure is missing. Nothing was changed.");
                Fault::bad(&sentence)
                    .mend("Give the class that the handler's error has, and a message.")
            };
            let class = fields.filled("class").ok_or_else(|| missing("class"))?;
            let message = fields.filled("message").ok_or_else(|| missing("message"))?;
            let mut failure = StoredFailure::new(class, message);
            if let Some(data) = fields.filled("data") {
                let data = serde_json::from_str(data).map_err(|_| {
                    Fault::bad("The data of the failure is not JSON. Nothing was changed.")
                        .mend("Give the fields of the failure as the handler's error has them, or nothing.")
                })?;
                failure = failure.with_data(data);
            }
            Ok(Resolution::Failed(failure).of_version(version(fields)?))
        }
        "never-happened" => Ok(Resolution::NeverHappened),
        _ => Err(Fault::bad(
            "It is not said what became of the effect. Nothing was changed.",
        )),
    }
}

/// Returns the version that the form says; 1 if it says none.
fn version(fields: &Fields) -> Result<NonZeroU16, Fault> {
    let Some(version) = fields.filled("version") else {
        return Ok(NonZeroU16::MIN);
    };
    version.parse().map_err(|_| {
        Fault::bad("The version is not a number from 1 to 65535. Nothing was changed.").mend(
            "Give the handler's `result_version`, or for a failure the `version` of its error type; 1 if it has none.",
        )
    })
}
