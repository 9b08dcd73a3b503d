//! Frees a key whose attempt does not come back.

use idem_runtime::operate::Released;

use super::as_shown;
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::pages::text::record_path;
use crate::site::Visit;

pub(crate) async fn change<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<String, Fault> {
    let author = visit.author()?;
    let record = as_shown(&visit).await?;
    let released = visit.site.operator.release(&record, &author).await?;
    Ok(match released {
        // The key has no record any more, and so no page.
        Released::Deleted => "/unknown?done=deleted".to_owned(),
        _ => format!("{}&done=released", record_path(&record.record_key)),
    })
}
