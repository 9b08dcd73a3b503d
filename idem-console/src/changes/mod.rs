//! The changes. Each is one of `idem_runtime::operate` or of the outbox, which write the row of the audit table.

pub(crate) mod outbox;
pub(crate) mod release;
pub(crate) mod resolve;

use idem_runtime::operate::RecordSummary;

use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::site::Visit;

/// Reads the record that a form names, and refuses if its attempt is not the one that the form's page showed.
async fn as_shown<DB: ConsoleDatabase>(visit: &Visit<DB>) -> Result<RecordSummary, Fault> {
    let key = visit.fields.record_key()?;
    let record = visit.site.operator.show(&key).await?;
    let record = record.ok_or_else(Fault::changed)?.summary;
    if record.attempt_id.to_string() == visit.fields.get("attempt") {
        Ok(record)
    } else {
        Err(Fault::changed())
    }
}
