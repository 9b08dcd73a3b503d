//! The caller's context (span, task-locals) inside a run.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::{Error, LeasedOperation, Operation};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Instrument as _, Metadata, Span, Subscriber};
use tracing_core::span::Current;

use crate::database::{LeaseDatabase as _, Sqlite};
use crate::desk::fresh_key;

type Entered = Vec<(u64, &'static Metadata<'static>)>;

thread_local! {
    static MADE: RefCell<Entered> = const { RefCell::new(Vec::new()) };
    static ENTERED: RefCell<Entered> = const { RefCell::new(Vec::new()) };
}

/// Records the current span of this thread.
#[derive(Default)]
struct Spans(AtomicU64);

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == module_path!()
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        MADE.with_borrow_mut(|made| made.push((id, attributes.metadata())));
        Id::from_u64(id)
    }

    fn enter(&self, id: &Id) {
        let id = id.into_u64();
        let made = MADE.with_borrow(|made| made.iter().find(|made| made.0 == id).copied());
        ENTERED.with_borrow_mut(|entered| entered.extend(made));
    }

    fn exit(&self, _: &Id) {
        ENTERED.with_borrow_mut(Vec::pop);
    }

    fn current_span(&self) -> Current {
        let current = ENTERED.with_borrow(|entered| entered.last().copied());
        current.map_or_else(Current::none, |(id, metadata)| {
            Current::new(Id::from_u64(id), metadata)
        })
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
}

tokio::task_local! {
    static TENANT: u8;
}

// On a single thread, because the subscriber is the thread's.
#[tokio::test(flavor = "current_thread")]
async fn a_run_is_in_the_span_of_its_caller_and_without_its_task_locals() {
    const NOTE: LeasedOperation =
        Operation::new("mail", "note").lease(Duration::from_mins(5), OnLapse::Retry);
    let database = Sqlite::open().await;
    let (pool, key) = (database.pool(), fresh_key());
    let _guard = tracing::subscriber::set_default(Spans::default());
    let span = tracing::info_span!("request");
    let call = NOTE.run(&pool, &key, &1, |_| async {
        // Also after it has yielded.
        tokio::task::yield_now().await;
        let current = Span::current().id().map(|id| id.into_u64());
        Ok::<_, Error>((current, TENANT.try_with(|tenant| *tenant).is_ok()))
    });
    let observed = TENANT.scope(7, call).instrument(span.clone()).await;
    let observed = observed.expect("it ran").into_inner();
    assert_eq!(observed, (span.id().map(|id| id.into_u64()), false));
    assert!(observed.0.is_some());
}
