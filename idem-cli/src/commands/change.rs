//! What the commands that change a record share: its name, the record, the author.

use idem_runtime::operate::{Author, OperateBackend, Operator, RecordDetail, RecordKey};
use idem_runtime::{IdempotencyKey, Namespace, Scope};

use crate::args::{Name, Sign};
use crate::fault::Fault;
use crate::view;

/// Returns the name of a record.
pub(super) fn record_key(name: &Name) -> Result<RecordKey, Fault> {
    let scope = match &name.scope {
        Some(scope) => Scope::new(scope.as_str())?,
        None => Scope::GLOBAL,
    };
    let namespace = Namespace::new(name.namespace.as_str())?;
    let key = name.key.parse::<IdempotencyKey>()?;
    Ok(RecordKey::new(namespace, scope, &key))
}

/// Returns the record of this name.
pub(super) async fn record<DB: OperateBackend>(
    operator: &Operator<DB>,
    name: &Name,
) -> Result<RecordDetail, Fault> {
    let found = operator.show(&record_key(name)?).await?;
    found.ok_or_else(|| {
        Fault::refused("the key has no record in this namespace and scope")
            .mend("idem list --namespace .. --scope .., or --table for another table")
    })
}

pub(super) fn author(sign: &Sign) -> Result<Author, Fault> {
    Ok(Author::new(sign.by.as_str(), sign.reason.as_str())?)
}

/// Describes a record in a clause: its operation, its status and its age.
pub(super) fn describe(record: &RecordDetail) -> String {
    let summary = &record.summary;
    format!(
        "`{}` of {}, scope {}, is {}, attempt {}, written {}",
        summary.operation,
        summary.record_key.namespace(),
        view::scope(summary.record_key.scope()),
        summary.status,
        summary.attempt,
        view::ago(summary.created_at, summary.read_at),
    )
}
