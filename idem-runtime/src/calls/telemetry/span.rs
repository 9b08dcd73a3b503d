//! The spans of a call, with target [`SPAN_TARGET`].
//!
//! ```text
//! idempotent call          from the first line of the handler to its answer
//! ├── claim <table>        one for each attempt to claim; otel.kind = "client"
//! ├── body                 what the body opens is below it
//! └── finish <table>       record, COMMIT, and what settles a doubt; otel.kind = "client"
//! ```
//!
//! `claim` and `finish` have the fields of OpenTelemetry's conventions for databases: `db.system.name`,
//! `db.operation.name`, `db.collection.name`. No span has a key or a value of a request.

use tracing::field::Empty;
use tracing::instrument::Instrumented;
use tracing::{Instrument as _, Span};

use crate::values::spec::OperationSpec;

/// The target of the library's spans. Filter it to switch them off: `idem::span=off`.
pub const SPAN_TARGET: &str = "idem::span";

/// Opens the span of a call.
pub(super) fn call(operation: &OperationSpec) -> Span {
    tracing::info_span!(
        target: SPAN_TARGET,
        "idempotent call",
        otel.kind = "internal",
        namespace = operation.namespace(),
        operation = operation.name(),
        outcome = Empty,
        waits = Empty,
    )
}

/// A step that the database takes part in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Statements {
    Claim,
    Finish,
}

/// Opens the span of a step, below the call's. `database` is sqlx's name of it.
pub(super) fn statements(call: &Span, step: Statements, database: &str, table: &str) -> Span {
    let system = match database {
        "PostgreSQL" => "postgresql",
        "MySQL" => "mysql",
        "SQLite" => "sqlite",
        _ => "other_sql",
    };
    macro_rules! span {
        ($step:literal) => {
            tracing::info_span!(
                target: SPAN_TARGET,
                parent: call,
                $step,
                otel.name = format_args!(concat!($step, " {}"), table),
                otel.kind = "client",
                db.system.name = system,
                db.operation.name = $step,
                db.collection.name = table,
            )
        };
    }
    match step {
        Statements::Claim => span!("claim"),
        Statements::Finish => span!("finish"),
    }
}

/// Runs a body in a span below the call's.
pub(super) fn body<F: Future>(call: &Span, body: F) -> Instrumented<F> {
    body.instrument(tracing::info_span!(
        target: SPAN_TARGET,
        parent: call,
        "body",
        otel.kind = "internal",
    ))
}
