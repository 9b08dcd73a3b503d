//! What the library warns of.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Event, Level, Metadata, Subscriber};

/// The warnings of one thread.
#[derive(Clone, Debug, Default)]
pub struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    /// Collects what this thread is warned of for as long as the guard lives.
    pub fn of_this_thread() -> (Self, DefaultGuard) {
        let warnings = Self::default();
        let guard = set_default(warnings.clone());
        (warnings, guard)
    }

    /// Returns the warnings whose text has this part.
    ///
    /// # Panics
    /// Never: nothing panics while it collects.
    pub fn with(&self, part: &str) -> Vec<String> {
        let texts = self.0.lock().expect("no panic");
        texts
            .iter()
            .filter(|text| text.contains(part))
            .cloned()
            .collect()
    }
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").expect("a string takes all");
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN && metadata.target() == "idem"
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().expect("no panic").push(text.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
