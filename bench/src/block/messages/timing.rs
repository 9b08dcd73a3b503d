//! The times of claims, as sqlx takes them: it logs each statement with its text, its rows and its time.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

use crate::Fault;

/// What only a claim's text has.
const CLAIM: &str = "again$ AS MATERIALIZED";

/// The outboxes whose claims are timed, and what was found: the outbox by its place, microseconds, and rows.
struct Timed {
    tables: Vec<&'static str>,
    claims: Vec<(usize, f64, u64)>,
}

static TIMED: Mutex<Timed> = Mutex::new(Timed {
    tables: Vec::new(),
    claims: Vec::new(),
});

/// Times the claims of these tables from now on.
pub(super) fn begin(tables: Vec<&'static str>) -> Result<(), Fault> {
    timed(|timed| timed.tables = tables);
    Ok(tracing::subscriber::set_global_default(Listener)?)
}

/// Returns the claims since the last call: the table by its place, microseconds, and rows.
pub(super) fn drain() -> Vec<(usize, f64, u64)> {
    timed(|timed| std::mem::take(&mut timed.claims))
}

fn timed<T>(work: impl FnOnce(&mut Timed) -> T) -> T {
    work(&mut TIMED.lock().unwrap_or_else(PoisonError::into_inner))
}

struct Listener;

impl Subscriber for Listener {
    fn register_callsite(&self, _metadata: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sqlx::query"
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        let mut statement = Statement::default();
        event.record(&mut statement);
        if !statement.text.contains(CLAIM) {
            return;
        }
        timed(|timed| {
            let reads = |table: &&str| statement.text.contains(&format!(" FROM {table}\n"));
            if let Some(index) = timed.tables.iter().position(reads) {
                let micros = statement.seconds * 1e6;
                timed.claims.push((index, micros, statement.rows));
            }
        });
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}
    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn enter(&self, _span: &Id) {}
    fn exit(&self, _span: &Id) {}
}

#[derive(Default)]
struct Statement {
    text: String,
    seconds: f64,
    rows: u64,
}

impl Visit for Statement {
    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == "elapsed_secs" {
            self.seconds = value;
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "rows_returned" {
            self.rows = value;
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "db.statement" {
            value.clone_into(&mut self.text);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "db.statement" {
            // A text that is given for display has its line breaks.
            self.text = format!("{value:?}");
        }
    }
}
