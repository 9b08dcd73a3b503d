//! `idem purge`.

use std::fmt::Write as _;
use std::time::Duration;

use idem_runtime::operate::{Author, OperateBackend, Operator, Stats};
use idem_runtime::purge::Archive;
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
    let retired = match purge.archived_older_than {
        Some(retention) => operator.count_retired(retention).await?,
        None => 0,
    };
    if purge.dry_run {
        count(&expired, purge.archived_older_than, retired, is_json);
        return Ok(Outcome::Done);
    }
    let by = purge
        .by
        .clone()
        .ok_or_else(|| Fault::usage("nobody is named").mend("add --by <your name>"))?;
    let author = Author::new(by, purge.reason.clone().unwrap_or_default())?;
    confirm(&prompt(&purge, &expired, retired), purge.yes)?;
    let mut purged = if purge.archive {
        let mut archive = Archive::new();
        if purge.archive_payloads {
            archive = archive.payloads();
        }
        operator
            .purge_into(archive, purge.unknown_older_than, &author)
            .await?
    } else {
        operator.purge(purge.unknown_older_than, &author).await?
    };
    if let Some(retention) = purge.archived_older_than {
        let done = operator.retire_archive(retention, &author).await;
        purged.retired = done.map_err(|error| Fault::from(error).after(purged.rows))?;
    }
    let archived = if purge.archive { purged.rows } else { 0 };
    if is_json {
        print_json(&json!({
            "deleted": purged.rows,
            "unknown": purged.unknown,
            "archived": archived,
            "retired": purged.retired,
        }));
        return Ok(Outcome::Done);
    }
    line(&format!(
        "records deleted: {}, of unknown outcome: {}",
        purged.rows, purged.unknown
    ));
    if purge.archive {
        line(&format!("rows written to the archive: {archived}"));
    }
    if purge.archived_older_than.is_some() {
        line(&format!("rows of the archive deleted: {}", purged.retired));
    }
    Ok(Outcome::Done)
}

fn held(expired: &Stats) -> u64 {
    expired.counts.iter().map(|count| count.held).sum()
}

fn prompt(purge: &Purge, expired: &Stats, retired: u64) -> String {
    let all: u64 = expired.counts.iter().map(|count| count.expired).sum();
    let records = all.saturating_sub(held(expired));
    let mut prompt = format!(
        "Records past their retention: {records}. Delete them? Their keys can be used again."
    );
    if purge.unknown_older_than.is_some() {
        prompt.push_str(" Unknown outcomes go too: RETRIES OF THEM RUN THE BODY.");
    }
    if purge.archived_older_than.is_some() {
        let _ = write!(prompt, " Rows of the archive go too: {retired}.");
    }
    prompt
}

/// Prints what would be deleted.
fn count(expired: &Stats, retention: Option<Duration>, retired: u64, is_json: bool) {
    let held = held(expired);
    if is_json {
        let mut counts = stats::json(expired);
        counts["held"] = held.into();
        counts["retired"] = retention.map(|_| retired).into();
        print_json(&counts);
        return;
    }
    stats::print(expired, is_json);
    if held > 0 {
        line(&format!("kept by legal holds: {held}"));
    }
    if retention.is_some() {
        line(&format!("rows of the archive to delete: {retired}"));
    }
}
