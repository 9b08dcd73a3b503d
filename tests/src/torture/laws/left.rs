//! What may not be left behind.

use super::{COMPLETED, Evidence, FAILED};

pub(super) fn nothing_is_stuck_in_flight(evidence: &Evidence<'_>) -> Vec<String> {
    let mut broken = evidence.keys(|key| {
        let stuck = key
            .records
            .iter()
            .find(|record| !matches!(record.status, COMPLETED | FAILED))?;
        Some(format!("is stuck in status {}", stuck.status))
    });
    let unfinished = evidence.tables.unfinished;
    if unfinished > 0 {
        broken.push(format!(
            "{unfinished} transactions or locks outlive all clients"
        ));
    }
    broken
}

pub(super) fn nothing_that_commit_refused_remains(evidence: &Evidence<'_>) -> Vec<String> {
    evidence.keys(|key| {
        let reported = key.successes.iter().map(|(_, done, _)| *done);
        let left = key.effects.iter().map(|effect| effect.done);
        let mut all = reported.chain(left).chain(key.recorded());
        let refused = all.find(|done| done.run < 0)?;
        Some(format!("was answered, or has left, {refused:?}"))
    })
}
