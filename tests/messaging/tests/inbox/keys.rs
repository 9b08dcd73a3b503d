//! What identifies a message.

use idem_messaging::inbox::{Message, MessageError, MessageKey, Received};
use idem_runtime::IdempotencyKey;

fn derived<const N: usize>(parts: [&str; N]) -> IdempotencyKey {
    IdempotencyKey::derive(parts).expect("a key")
}

fn event() -> Message {
    Message::new(br#"{"case":17}"#.as_slice())
}

fn binary(prefix: &str) -> Message {
    event()
        .with_header(format!("{prefix}specversion"), "1.0")
        .with_header(format!("{prefix}source"), "/cases")
        .with_header(format!("{prefix}id"), "8e03978e")
        .with_header(format!("{prefix}type"), "case.escalated")
}

fn structured(text: &str) -> Message {
    Message::new(text).with_content_type("application/cloudevents+json; charset=utf-8")
}

#[test]
fn a_cloud_event_has_one_key_in_every_mode_and_under_every_prefix() {
    let whole = r#"{"specversion":"1.0","source":"/cases","id":"8e03978e","type":"case.escalated","data":{"case":17}}"#;
    let prefixes = ["ce-", "CE-", "ce_", "cloudEvents:", "cloudEvents_"];
    let forms = prefixes.map(binary).into_iter().chain([structured(whole)]);
    for message in forms {
        let key = MessageKey::cloud_event().of(&message);
        assert_eq!(key, Ok(derived(["/cases", "8e03978e"])));
        let event = Received::<serde_json::Value>::json(&message).expect("it is read");
        assert_eq!(event.event_type(), Some("case.escalated"));
        assert_eq!(event["case"], 17);
    }
}

#[test]
fn the_encoding_of_a_header_is_undone_before_it_is_a_key() {
    let plain = binary("ce_").with_header("ce_subject", "x");
    let encoded = event()
        .with_header("ce-specversion", "1.0")
        .with_header("ce-source", "%2Fcases")
        .with_header("ce-id", "\"8e03\\978e\"");
    let key = MessageKey::cloud_event();
    assert_eq!(key.of(&encoded), key.of(&plain));
}

#[test]
fn source_and_id_are_never_run_together() {
    let of = |source: &str, id: &str| {
        let message = event()
            .with_header("ce-specversion", "1.0")
            .with_header("ce-source", source)
            .with_header("ce-id", id);
        MessageKey::cloud_event().of(&message).expect("a key")
    };
    assert_ne!(of("/a/", "b"), of("/a", "/b"));
    assert_ne!(of("/a", "1"), of("/b", "1"));
}

#[test]
fn a_message_without_its_id_is_refused_by_name() {
    let refused = [
        (
            MessageKey::broker_id(),
            "id of the broker (`Nats-Msg-Id`, AMQP `message_id`)",
        ),
        (
            MessageKey::cloud_event(),
            "CloudEvents attribute `specversion`",
        ),
        (MessageKey::webhook_id(), "header `webhook-id`"),
        (MessageKey::header("X-Request"), "header `X-Request`"),
        (
            MessageKey::payload("/order/id"),
            "payload field `/order/id`",
        ),
        (MessageKey::stream_position(), "stream"),
    ];
    for (key, name) in refused {
        let part = name.to_owned().into();
        assert_eq!(key.of(&event()), Err(MessageError::NoId { part }));
    }
    let without_id = event()
        .with_header("ce-specversion", "1.0")
        .with_header("ce-source", "/cases");
    let part = "CloudEvents attribute `id`".into();
    let refused = MessageKey::cloud_event().of(&without_id);
    assert_eq!(refused, Err(MessageError::NoId { part }));
    let blank = event().with_broker_id(" \t");
    let refused = MessageKey::broker_id().of(&blank);
    assert!(matches!(refused, Err(MessageError::Blank { .. })));
}

#[test]
fn each_place_of_an_id_is_read() {
    let message = Message::new(br#"{"order":{"id":17},"tenant":"acme"}"#.as_slice())
        .with_broker_id("b")
        .with_header("Webhook-Id", "msg_2b")
        .with_position("ORDERS", 4711);
    let keys = [
        (MessageKey::broker_id(), derived(["b"])),
        (MessageKey::webhook_id(), derived(["msg_2b"])),
        (MessageKey::payload("/order/id"), derived(["17"])),
        (MessageKey::stream_position(), derived(["ORDERS", "4711"])),
        (
            MessageKey::payload("/tenant").and(MessageKey::broker_id()),
            derived(["acme", "b"]),
        ),
    ];
    for (key, expected) in keys {
        assert_eq!(key.of(&message), Ok(expected));
    }
}

#[test]
fn two_values_of_one_id_are_refused() {
    let twice = event()
        .with_header("webhook-id", "a")
        .with_header("Webhook-Id", "b");
    let refused = MessageKey::webhook_id().of(&twice);
    assert!(matches!(refused, Err(MessageError::Ambiguous { .. })));
    let repeated = event()
        .with_header("webhook-id", "a")
        .with_header("Webhook-Id", "a");
    assert_eq!(MessageKey::webhook_id().of(&repeated), Ok(derived(["a"])));
    let two_prefixes = binary("ce-").with_header("ce_id", "another");
    let refused = MessageKey::cloud_event().of(&two_prefixes);
    assert!(matches!(refused, Err(MessageError::Ambiguous { .. })));
}

#[test]
fn a_field_that_has_no_one_text_is_no_key() {
    for value in ["1.5", "1e3", "true", "[1]", "{}", "18446744073709551616"] {
        let message = Message::new(format!(r#"{{"id":{value}}}"#));
        let refused = MessageKey::payload("/id").of(&message);
        assert!(
            matches!(refused, Err(MessageError::NotKeyPart { .. })),
            "{value}"
        );
    }
    for value in ["null", "\"\""] {
        let message = Message::new(format!(r#"{{"id":{value}}}"#));
        assert!(MessageKey::payload("/id").of(&message).is_err(), "{value}");
    }
    let no_json = Message::new(b"\xff".as_slice());
    let refused = MessageKey::payload("/id").of(&no_json);
    assert!(matches!(refused, Err(MessageError::Payload { .. })));
}

#[test]
fn a_cloud_event_in_another_form_is_refused_by_name() {
    let media = [
        "application/cloudevents-batch+json",
        "application/cloudevents+avro",
    ];
    for media in media {
        let message = Message::new(b"{}".as_slice()).with_header("Content-Type", media);
        let refused = MessageKey::cloud_event().of(&message);
        assert!(matches!(refused, Err(MessageError::CloudEventForm { .. })));
    }
    let version = structured(r#"{"specversion":"0.3","source":"/cases","id":"1"}"#);
    let refused = MessageKey::cloud_event().of(&version);
    assert!(matches!(refused, Err(MessageError::CloudEventForm { .. })));
}

#[test]
fn data_in_base64_is_the_same_payload() {
    let text = r#"{"specversion":"1.0","source":"/c","id":"1","type":"t","data_base64":"eyJjYXNlIjoxN30="}"#;
    let event = Received::<serde_json::Value>::json(&structured(text)).expect("it is read");
    assert_eq!(event["case"], 17);
}

#[test]
fn no_refusal_quotes_the_message() {
    let secret = Message::new(br#"{"case":"4111-1111"}"#.as_slice());
    let decoded = Received::<Vec<u8>>::json(&secret).expect_err("no list");
    let text = format!("{decoded} {decoded:?} {secret:?}");
    assert!(!text.contains("4111"), "{text}");
}
