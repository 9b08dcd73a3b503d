//! What is handed to the recorder by its key, and not by a handle that is kept: what is counted seldom.

use metrics::{Key, Label, with_recorder};

use super::METADATA;

/// Adds one to a counter.
pub(in super::super) fn count(key: &Key) {
    add(key, 1);
}

/// Adds to a counter.
pub(super) fn add(key: &Key, by: u64) {
    with_recorder(|recorder| recorder.register_counter(key, &METADATA).increment(by));
}

/// Adds a sample to a histogram.
pub(in super::super) fn sample(key: &Key, value: f64) {
    with_recorder(|recorder| recorder.register_histogram(key, &METADATA).record(value));
}

/// Sets a gauge.
pub(in super::super) fn set(key: &Key, value: f64) {
    with_recorder(|recorder| recorder.register_gauge(key, &METADATA).set(value));
}

/// Adds to a counter that belongs to no operation. `label` is its only label.
pub(crate) fn increment(name: &'static str, label: (&'static str, &'static str), by: u64) {
    let key = Key::from_parts(name, vec![Label::from_static_parts(label.0, label.1)]);
    add(&key, by);
}

/// Sets a gauge that belongs to no operation.
pub(crate) fn gauge(name: &'static str, value: f64) {
    let key = Key::from_static_name(name);
    with_recorder(|recorder| recorder.register_gauge(&key, &METADATA).set(value));
}
