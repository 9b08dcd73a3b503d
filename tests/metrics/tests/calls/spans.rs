//! The spans of a call.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use idem_runtime::Operation;
use idem_runtime::telemetry::SPAN_TARGET;
use sqlx::{Database, Transaction};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

use crate::fixture::Fixture;
use crate::{CallError, key};

/// A span: its name, the name of the one above it, and its fields.
#[derive(Clone)]
struct Opened {
    metadata: &'static Metadata<'static>,
    above: Option<u64>,
    fields: Vec<(&'static str, String)>,
}

thread_local! {
    static OPENED: RefCell<Vec<Opened>> = const { RefCell::new(Vec::new()) };
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

struct Fields<'a>(&'a mut Vec<(&'static str, String)>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}

/// Remembers the library's spans, and those of this test.
#[derive(Clone, Default)]
struct Spans(Arc<AtomicU64>);

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && [SPAN_TARGET, module_path!()].contains(&metadata.target())
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Vec::new();
        attributes.record(&mut Fields(&mut fields));
        let above = match attributes.parent() {
            Some(parent) => Some(parent.into_u64()),
            None if attributes.is_contextual() => {
                ENTERED.with_borrow(|entered| entered.last().copied())
            }
            None => None,
        };
        let metadata = attributes.metadata();
        OPENED.with_borrow_mut(|opened| {
            opened.push(Opened {
                metadata,
                above,
                fields,
            });
        });
        Id::from_u64(self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        OPENED.with_borrow_mut(|opened| {
            let at = usize::try_from(id.into_u64() - 1).expect("few spans");
            values.record(&mut Fields(&mut opened[at].fields));
        });
    }

    fn enter(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(id.into_u64()));
    }

    fn exit(&self, _: &Id) {
        ENTERED.with_borrow_mut(Vec::pop);
    }

    fn current_span(&self) -> Current {
        let current = ENTERED.with_borrow(|entered| entered.last().copied());
        current.map_or_else(Current::none, |id| {
            let metadata = OPENED
                .with_borrow(|opened| opened[usize::try_from(id - 1).expect("few spans")].metadata);
            Current::new(Id::from_u64(id), metadata)
        })
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
}

pub(crate) async fn a_call_has_one_span_with_its_steps_below<P: Fixture>() {
    const PAY: Operation = Operation::new("payments", "pay");
    let fixture = P::open().await;
    let _guard = tracing::subscriber::set_default(Spans::default());
    let body = async |_: &mut Transaction<'_, P::Db>| {
        let _own = tracing::info_span!("own").entered();
        Ok::<_, CallError>(5)
    };
    PAY.run(&fixture.pool(), &key("order-17"), &1, body)
        .await
        .expect("it ran");
    let opened = OPENED.take();
    let names: Vec<_> = opened.iter().map(|span| span.metadata.name()).collect();
    let above = |span: &Opened| {
        let above = usize::try_from(span.above?).expect("few spans") - 1;
        Some(names[above])
    };
    let field = |span: &Opened, name: &str| {
        let mut fields = span.fields.iter().rev();
        fields.find_map(|(found, value)| (*found == name).then(|| value.clone()))
    };
    assert_eq!(names[0], "idempotent call");
    assert_eq!(
        names
            .iter()
            .filter(|name| **name == "idempotent call")
            .count(),
        1
    );
    for name in ["claim", "body", "finish", "own"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let system = match <P::Db as Database>::NAME {
        "PostgreSQL" => "postgresql",
        "MySQL" => "mysql",
        _ => "sqlite",
    };
    for span in &opened {
        match span.metadata.name() {
            "idempotent call" => {
                assert_eq!(above(span), None);
                assert_eq!(field(span, "outcome").as_deref(), Some("executed"));
                assert_eq!(field(span, "namespace").as_deref(), Some("payments"));
            }
            "own" => assert_eq!(above(span), Some("body")),
            "body" => assert_eq!(above(span), Some("idempotent call")),
            step => {
                assert_eq!(above(span), Some("idempotent call"), "{step}");
                assert_eq!(field(span, "db.system.name").as_deref(), Some(system));
                assert_eq!(field(span, "db.operation.name").as_deref(), Some(step));
                assert_eq!(
                    field(span, "db.collection.name").as_deref(),
                    Some("idem_record")
                );
                assert_eq!(field(span, "otel.kind").as_deref(), Some("client"));
            }
        }
    }
}
