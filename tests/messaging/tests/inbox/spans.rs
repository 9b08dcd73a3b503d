//! The span of a delivery.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use idem_messaging::inbox::{Answer, Consumer, Delivery, Message, MessageKey, Verdict};
use idem_runtime::{IdempotencyKey, Operation};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// The fields of the spans that were opened, as `name=value`.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<Vec<String>>>>);

struct Fields<'a>(&'a mut Vec<String>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push(format!("{field}={value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push(format!("{field}={value:?}"));
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == "idem" && metadata.name() == "message"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut spans = self.0.lock().expect("no panic");
        let mut fields = Vec::new();
        span.record(&mut Fields(&mut fields));
        spans.push(fields);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut spans = self.0.lock().expect("no panic");
        let number = usize::try_from(span.into_u64()).expect("a number of a span");
        values.record(&mut Fields(&mut spans[number - 1]));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn each_delivery_is_a_span_with_the_ids_of_its_message_and_a_malformed_trace_begins_none() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let handler = |_: IdempotencyKey, _: Arc<Message>| async { Answer::Done };
    let operation = Operation::new("notifier", "notify");
    let consumer = Consumer::new(operation, MessageKey::broker_id(), handler);
    let consumer = consumer.expect("a consumer");
    for trace in [TRACE, "00-nothing"] {
        let message = Message::new("{}")
            .with_broker_id("8e03978e")
            .with_topic("cases")
            .with_header("traceparent", trace);
        let verdict = consumer.handle(&Delivery::new(message)).await;
        assert_eq!(verdict, Verdict::Ack);
    }
    let spans = spans.0.lock().expect("no panic");
    let [traced, malformed] = &spans[..] else {
        panic!("{spans:?}")
    };
    let plain = ["otel.kind=consumer", "consumer=notifier", "topic=cases"].map(str::to_owned);
    assert_eq!(malformed[..], plain);
    let ids = [
        "trace_id=0af7651916cd43dd8448eb211c80319c",
        "parent_id=b7ad6b7169203331",
    ];
    assert_eq!(traced[..3], plain);
    assert_eq!(traced[3..], ids);
}
