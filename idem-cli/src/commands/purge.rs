//! `idem purge`.

use idem_runtime::operate::{Author, OperateBackend, Operator};
use serde_json::json;

use super::stats;
use crate::args::Purge;
use crate::confirm::confirm;
use crate::fault::{Fault, Outcome};
use crate::view::{line, print_json};

pub(super) async fn run<DB: OperateBackend>(
    operator: &Operator<DB>,
    purge: Purge,
    is_json: bool,
) -> Result<Outcome, Fault> {
    let expired = operator.count_expired().await?;
    if purge.dry_run {
        stats::print(&expired, is_json);
        return Ok(Outcome::Done);
    }
    let by = purge
        .by
        .ok_or_else(|| Fault::usage("nobody is named").mend("add --by <your name>"))?;
    let author = Author::new(by, purge.reason.unwrap_or_default())?;
    let records: u64 = expired.counts.iter().map(|count| count.expired).sum();
    let unknown = match purge.unknown_older_than {
        Some(_) => " Unknown outcomes go too: RETRIES OF THEM RUN THE BODY.",
        None => "",
    };
    let prompt = format!(
        "Records past their retention: {records}. Delete them? Their keys can be used again.{unknown}"
    );
    confirm(&prompt, purge.yes)?;
    let purged = operator.purge(purge.unknown_older_than, &author).await?;
    if is_json {
        print_json(&json!({ "deleted": purged.rows, "unknown": purged.unknown }));
    } else {
        line(&format!(
            "records deleted: {}, of unknown outcome: {}",
            purged.rows, purged.unknown
        ));
    }
    Ok(Outcome::Done)
}
