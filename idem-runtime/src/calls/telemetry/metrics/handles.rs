//! The handles of what is counted at nearly each call, kept as long as they are certain to be the recorder's.
//!
//! A handle is asked for again if another recorder is installed, and every [`KEPT_FOR`]: an exporter that has dropped a
//! metric because it was idle would count no more through the old handle. Recorders of one thread, which tests use, are
//! asked at each event: the next of them may stand at the same address.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use metrics::{Counter, Histogram, Key, Recorder, with_recorder};

use super::METADATA;

/// How long handles are kept: 10 seconds. An exporter that drops what was idle for less than that loses counts.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// The address of the program's recorder, once it is known.
static GLOBAL: AtomicUsize = AtomicUsize::new(0);

/// The address of a recorder that was last found to be a thread's own.
static LOCAL: AtomicUsize = AtomicUsize::new(0);

/// The keys of the handles that are kept.
#[derive(Clone, Copy)]
pub(super) struct FrequentKeys<'a> {
    pub(super) started: &'a Key,
    pub(super) executed: &'a Key,
    pub(super) replayed: [&'a Key; 2],
    pub(super) steps: [&'a Key; 3],
}

/// The handles of one operation.
pub(in super::super) struct Handles {
    recorder: usize,
    since: Instant,
    pub(in super::super) started: Counter,
    pub(in super::super) executed: Counter,
    /// Of calls that ended so, and of results that were replayed.
    pub(in super::super) replayed: [Counter; 2],
    /// Of claim, body and finish.
    pub(in super::super) steps: [Histogram; 3],
}

/// The handles of one operation, if they are kept.
#[derive(Default)]
pub(super) struct KeptHandles(RwLock<Option<Handles>>);

impl KeptHandles {
    /// Calls `report` with the handles of the program's recorder. Returns `false` if this thread has one of its own.
    pub(super) fn with(&self, keys: FrequentKeys<'_>, report: impl FnOnce(&Handles)) -> bool {
        let recorder = with_recorder(address);
        if !is_global(recorder) {
            return false;
        }
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(handles) = &*kept
            && handles.recorder == recorder
            && handles.since.elapsed() < KEPT_FOR
        {
            report(handles);
            return true;
        }
        drop(kept);
        let handles = Handles::of(recorder, keys);
        report(&handles);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(handles);
        true
    }
}

impl Handles {
    fn of(recorder: usize, keys: FrequentKeys<'_>) -> Self {
        let counter = |key| with_recorder(|recorder| recorder.register_counter(key, &METADATA));
        let histogram = |key| with_recorder(|recorder| recorder.register_histogram(key, &METADATA));
        Self {
            recorder,
            since: Instant::now(),
            started: counter(keys.started),
            executed: counter(keys.executed),
            replayed: keys.replayed.map(counter),
            steps: keys.steps.map(histogram),
        }
    }
}

fn address(recorder: &dyn Recorder) -> usize {
    std::ptr::from_ref(recorder).cast::<()>().addr()
}

/// Returns whether the recorder at this address is the program's. A new thread has no recorder of its own, so that it
/// shows the program's: it is asked once for each address.
fn is_global(recorder: usize) -> bool {
    if recorder == GLOBAL.load(Relaxed) {
        return true;
    }
    if recorder == LOCAL.load(Relaxed) {
        return false;
    }
    let shown = thread::Builder::new().spawn(|| with_recorder(address));
    let shown = shown.ok().and_then(|thread| thread.join().ok());
    let is_global = shown == Some(recorder);
    let known = if is_global { &GLOBAL } else { &LOCAL };
    known.store(recorder, Relaxed);
    is_global
}
