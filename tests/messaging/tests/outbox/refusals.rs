//! What is refused before anything is written.

use std::time::Duration;

use idem_messaging::outbox::{Event, EventBuilder, EventError, EventField, Origin, limits};
use idem_runtime::IdempotencyKey;
use idem_runtime::record::Timestamp;

use crate::subject::{ESCALATE, builder, origin};

fn refused(builder: EventBuilder) -> EventError {
    let refused = builder.build().expect_err("it is refused");
    assert!(
        refused.to_string().contains("nothing was written"),
        "{refused}"
    );
    refused
}

#[test]
fn a_key_without_a_scope_makes_no_event() {
    let key: IdempotencyKey = "k".parse().expect("a key");
    let refused = Origin::of(ESCALATE, &key).expect_err("it is refused");
    assert_eq!(
        refused,
        EventError::Missing {
            field: EventField::Scope
        }
    );
}

#[test]
fn a_label_a_topic_and_a_type_are_required() {
    let origin = origin("k");
    let with = |label: &str| Event::builder(&origin, label);
    assert_eq!(
        refused(with(" ").topic("t").event_type("t")),
        EventError::Blank {
            field: EventField::Label
        }
    );
    assert_eq!(
        refused(with("l").event_type("t")),
        EventError::Missing {
            field: EventField::Topic
        }
    );
    assert_eq!(
        refused(with("l").topic("t")),
        EventError::Missing {
            field: EventField::EventType
        }
    );
}

#[test]
fn a_text_is_not_blank_and_not_longer_than_its_limit() {
    let long = |limit: usize| "x".repeat(limit + 1);
    let cases: [(EventBuilder, EventField, usize); 6] = [
        (
            builder("a").topic(long(limits::TOPIC_MAX)),
            EventField::Topic,
            limits::TOPIC_MAX,
        ),
        (
            builder("a").partition_key(long(limits::PARTITION_KEY_MAX)),
            EventField::PartitionKey,
            limits::PARTITION_KEY_MAX,
        ),
        (
            builder("a").event_type(long(limits::ATTRIBUTE_MAX)),
            EventField::EventType,
            limits::ATTRIBUTE_MAX,
        ),
        (
            builder("a").source(long(limits::ATTRIBUTE_MAX)),
            EventField::Source,
            limits::ATTRIBUTE_MAX,
        ),
        (
            builder("a").subject(long(limits::ATTRIBUTE_MAX)),
            EventField::Subject,
            limits::ATTRIBUTE_MAX,
        ),
        (
            builder("a").payload(long(limits::ATTRIBUTE_MAX), ""),
            EventField::ContentType,
            limits::ATTRIBUTE_MAX,
        ),
    ];
    for (builder, field, limit) in cases {
        assert_eq!(
            refused(builder),
            EventError::TooLong {
                field,
                limit,
                length: limit + 1
            }
        );
    }
    assert_eq!(
        refused(builder("a").partition_key("")),
        EventError::Blank {
            field: EventField::PartitionKey
        }
    );
    assert_eq!(
        refused(builder("a").subject("\t")),
        EventError::Blank {
            field: EventField::Subject
        }
    );
}

#[test]
fn a_payload_and_headers_have_a_size_limit_in_bytes() {
    let payload = refused(
        builder("a")
            .payload("text/plain", vec![0; 11])
            .payload_limit(10),
    );
    assert_eq!(
        payload,
        EventError::TooLarge {
            field: EventField::Payload,
            limit: 10,
            size: 11
        }
    );
    let headers = refused(builder("a").header("h", "v".repeat(limits::HEADERS_MAX)));
    assert_eq!(headers.field(), &EventField::Headers);
}

#[test]
fn a_header_goes_through_every_protocol_and_is_none_of_the_publishers_own() {
    for name in ["", "a b", "a:b", "ä"] {
        assert!(
            matches!(
                refused(builder("a").header(name, "v")).field(),
                EventField::Header(_)
            ),
            "{name}"
        );
    }
    for name in [
        "Content-Type",
        "CE-Id",
        "traceparent",
        "Idempotency-Key",
        "Nats-Msg-Id",
        "Webhook-Signature",
    ] {
        assert!(
            matches!(
                refused(builder("a").header(name, "v")),
                EventError::Form { .. }
            ),
            "{name}"
        );
    }
    assert!(matches!(
        refused(builder("a").header("h", "a\r\nb: c")),
        EventError::Character {
            found: '\r',
            index: 1,
            ..
        }
    ));
}

#[test]
fn a_trace_context_is_one() {
    for traceparent in [
        "",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
    ] {
        assert_eq!(
            refused(builder("a").trace_context(traceparent, None)).field(),
            &EventField::Traceparent
        );
    }
}

#[test]
fn a_delivery_time_is_one_that_every_database_and_client_knows() {
    for micros in [-1, i64::MAX] {
        let at = Timestamp::from_micros(micros);
        assert_eq!(
            refused(builder("a").deliver_at(at)).field(),
            &EventField::DeliverAt
        );
    }
    assert_eq!(
        refused(builder("a").deliver_after(Duration::MAX)).field(),
        &EventField::DeliverAt
    );
}

#[test]
fn a_payload_that_is_no_json_is_refused_with_its_reason() {
    let no_json = std::collections::BTreeMap::from([((1, 2), 3)]);
    assert!(matches!(
        refused(builder("a").json(&no_json)),
        EventError::Json { .. }
    ));
}

#[test]
fn nothing_printed_of_an_event_shows_what_may_be_personal() {
    let event = builder("a")
        .subject("Ada")
        .partition_key("Ada")
        .header("h", "Ada")
        .payload("text/plain", "Ada");
    let printed = format!("{:?}", event.build().expect("an acceptable event"));
    assert!(!printed.contains("Ada"), "{printed}");
}
