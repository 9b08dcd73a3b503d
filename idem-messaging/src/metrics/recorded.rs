//! What is handed to the recorder, which is asked at each event: it may come later, and may forget what is idle.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use metrics::{Key, Label, with_recorder};

use super::{
    MESSAGE_DEAD_LETTERED, MESSAGE_DUPLICATE, MESSAGE_HANDLED, METADATA, PROJECTION_STALE,
};

/// The maximum number of projections that are told apart.
const TOLD_APART: usize = 256;

/// Adds one to a counter with these labels.
pub(crate) fn increment(name: &'static str, labels: &[(&'static str, &'static str)]) {
    count(&key_with(name, labels));
}

fn key_with(name: &'static str, labels: &[(&'static str, &'static str)]) -> Key {
    let labels = labels.iter();
    let labels: Vec<_> = labels
        .map(|(label, value)| Label::from_static_parts(label, value))
        .collect();
    Key::from_parts(name, labels)
}

/// Sets a gauge.
pub(crate) fn gauge(name: &'static str, value: f64) {
    let key = Key::from_static_name(name);
    with_recorder(|recorder| recorder.register_gauge(&key, &METADATA).set(value));
}

/// Reports a delivery by its verdict, and whether an earlier one had its effect.
pub(crate) fn handled(namespace: &'static str, verdict: &'static str, is_duplicate: bool) {
    let labels = [("namespace", namespace), ("outcome", verdict)];
    increment(MESSAGE_HANDLED, &labels);
    // Begins at zero: a server that finds a counter at one when it first sees it counts no increase.
    let key = Key::from_parts(
        MESSAGE_DUPLICATE,
        vec![Label::from_static_parts("namespace", namespace)],
    );
    add(&key, u64::from(is_duplicate));
}

/// Reports whether a message was set aside for this reason. The counter of each reason begins at zero, too.
pub(crate) fn dead_lettered(namespace: &'static str, reason: &'static str, is_it: bool) {
    let labels = [("namespace", namespace), ("kind", reason)];
    add(&key_with(MESSAGE_DEAD_LETTERED, &labels), u64::from(is_it));
}

/// Reports an event that a projection had already.
pub(crate) fn stale(projection: &str) {
    static KNOWN: Mutex<Option<HashMap<String, Key>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if !known.contains_key(projection) && known.len() < TOLD_APART {
        known.insert(projection.to_owned(), key_of(projection.to_owned()));
    }
    match known.get(projection) {
        Some(key) => count(key),
        None => count(&key_of("other".to_owned())),
    }
}

fn key_of(projection: String) -> Key {
    Key::from_parts(PROJECTION_STALE, vec![Label::new("projection", projection)])
}

fn count(key: &Key) {
    add(key, 1);
}

fn add(key: &Key, by: u64) {
    with_recorder(|recorder| recorder.register_counter(key, &METADATA).increment(by));
}
