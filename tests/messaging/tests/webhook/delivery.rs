//! What an endpoint gets.

use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use idem_messaging::broker::webhook::{Endpoint, WebhookSecret, WebhookSecretError};
use idem_messaging::outbox::{PublishErrorKind, Publisher as _};
use ring::signature::{ED25519, UnparsedPublicKey};
use standardwebhooks::Webhook;

use super::site::{OTHER_SECRET, Posted, Receiver, SECRET, endpoint, event, publish, to};

/// A secret key of ed25519, and the one that follows it.
const KEY: &str = "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
const NEXT_KEY: &str = "whsk_TM0Imyj/ltqdtsNG7BFODfBrhCMLJRtYWKvM3YzWa3I=";

fn verifies(secret: &str, posted: &Posted) -> bool {
    let webhook = Webhook::new(secret).expect("a secret");
    webhook.verify(&posted.body, &posted.headers).is_ok()
}

#[tokio::test]
async fn a_receiver_with_any_of_the_secrets_verifies_the_signature_and_no_other_does() {
    let receiver = Receiver::start(|_| StatusCode::OK).await;
    let rotating = receiver
        .endpoint()
        .also_signed_with(OTHER_SECRET.parse().expect("a secret"));
    let publisher = to(rotating).build().expect("a publisher");
    publish(&publisher).await.expect("published");
    let [posted] = &receiver.posted()[..] else {
        panic!("it was posted once")
    };
    assert!(verifies(SECRET, posted) && verifies(OTHER_SECRET, posted));
    assert!(!verifies("whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3", posted));
    let mut changed = posted.clone();
    changed.body = "\"hullo\"".into();
    assert!(!verifies(SECRET, &changed));
    let mut renamed = posted.clone();
    renamed
        .headers
        .insert("webhook-id", "other".parse().expect("a value"));
    assert!(!verifies(SECRET, &renamed));
}

/// Whether a signature of the scheme `v1a` is one of this public key's, as Standard Webhooks describes the check.
fn is_signed_by(public_key: &str, posted: &Posted) -> bool {
    let key = public_key.strip_prefix("whpk_").expect("a public key");
    let key = UnparsedPublicKey::new(&ED25519, BASE64.decode(key).expect("Base64"));
    let (id, timestamp) = (
        posted.header("webhook-id"),
        posted.header("webhook-timestamp"),
    );
    let mut signed = format!("{id}.{timestamp}.").into_bytes();
    signed.extend_from_slice(&posted.body);
    let signatures = posted.header("webhook-signature").split(' ');
    signatures
        .filter_map(|signature| signature.strip_prefix("v1a,"))
        .any(|signature| {
            let signature = BASE64.decode(signature).expect("Base64");
            key.verify(&signed, &signature).is_ok()
        })
}

fn public(key: &str) -> String {
    let key: WebhookSecret = key.parse().expect("a secret key");
    key.public_key().expect("a pair has a public key")
}

#[tokio::test]
async fn a_receiver_with_the_public_key_of_any_pair_verifies_beside_those_with_a_shared_secret() {
    let receiver = Receiver::start(|_| StatusCode::OK).await;
    let rotating = [KEY, NEXT_KEY]
        .into_iter()
        .fold(receiver.endpoint(), |endpoint, key| {
            endpoint.also_signed_with(key.parse().expect("a secret key"))
        });
    let publisher = to(rotating).build().expect("a publisher");
    publish(&publisher).await.expect("published");
    let [posted] = &receiver.posted()[..] else {
        panic!("it was posted once")
    };
    let schemes: Vec<_> = posted
        .header("webhook-signature")
        .split(' ')
        .map(|signature| signature.split(',').next())
        .collect();
    assert_eq!(schemes, [Some("v1"), Some("v1a"), Some("v1a")]);
    assert!(verifies(SECRET, posted));
    let (one, next) = (public(KEY), public(NEXT_KEY));
    assert!(is_signed_by(&one, posted) && is_signed_by(&next, posted));
    let stranger = public("whsk_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=");
    assert!(!is_signed_by(&stranger, posted));
    let mut changed = posted.clone();
    changed.body = "\"hullo\"".into();
    assert!(!is_signed_by(&one, &changed));
    for name in ["webhook-id", "webhook-timestamp"] {
        let mut other = posted.clone();
        other.headers.insert(name, "17".parse().expect("a value"));
        assert!(!is_signed_by(&one, &other), "{name}");
    }
}

#[tokio::test]
async fn an_event_keeps_its_id_its_attributes_and_its_payload_on_every_attempt() {
    let receiver = Receiver::start(|_| StatusCode::NO_CONTENT).await;
    let publisher = to(receiver.endpoint()).build().expect("a publisher");
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let payload = [0, 0xff, b'\r', b'\n', b'{'];
    let event = event(|event| {
        event
            .subject("case 17 %")
            .header("X-Tenant", "seven")
            .trace_context(trace, None)
            .payload("application/octet-stream", payload)
    });
    for _ in 0..2 {
        publisher.publish(&event).await.expect("published");
    }
    let posted = receiver.posted();
    assert_eq!(posted.len(), 2);
    for posted in posted {
        assert_eq!(posted.method, "POST");
        assert_eq!(posted.uri, "/hooks?token=17");
        assert_eq!(&posted.body[..], payload);
        for (name, value) in [
            ("webhook-id", event.id().as_str()),
            ("idempotency-key", event.id().as_str()),
            ("ce-id", event.id().as_str()),
            ("ce-type", "com.example.noted"),
            ("ce-source", "/facts"),
            ("ce-specversion", "1.0"),
            ("ce-subject", "case%2017%20%25"),
            ("ce-time", "2023-11-14T22:13:20.000000Z"),
            ("content-type", "application/octet-stream"),
            ("traceparent", trace),
            ("x-tenant", "seven"),
        ] {
            assert_eq!(posted.header(name), value, "{name}");
        }
        let signature = posted.header("webhook-signature");
        assert!(signature.starts_with("v1,") && !signature.contains(' '));
    }
}

#[tokio::test]
async fn a_header_that_frames_the_message_is_not_the_events_to_set() {
    let receiver = Receiver::start(|_| StatusCode::OK).await;
    let publisher = to(receiver.endpoint()).build().expect("a publisher");
    for name in ["Host", "Content-Length", "Transfer-Encoding", "Connection"] {
        let event = event(|event| event.header(name, "0"));
        let error = publisher.publish(&event).await.expect_err("refused");
        assert_eq!(error.kind(), PublishErrorKind::Permanent, "{error}");
    }
    assert!(receiver.posted().is_empty());
}

#[tokio::test]
async fn each_event_goes_to_the_endpoint_that_the_program_chooses() {
    use idem_messaging::broker::webhook::WebhookPublisher;
    use idem_messaging::outbox::{OutboxEvent, PublishError};

    let (one, two) = (
        Receiver::start(|_| StatusCode::OK).await,
        Receiver::start(|_| StatusCode::OK).await,
    );
    let (first, second) = (one.endpoint(), two.endpoint());
    let choose = move |event: &OutboxEvent| match event.topic() {
        "one" => Ok(first.clone()),
        "two" => Ok(second.clone()),
        other => Err(PublishError::permanent(format!("nobody wants {other}"))),
    };
    let publisher = WebhookPublisher::builder(choose)
        .allow_http()
        .allow_network("127.0.0.0/8")
        .build()
        .expect("a publisher");
    for topic in ["one", "two", "two"] {
        let event = event(|event| event.topic(topic));
        publisher.publish(&event).await.expect("published");
    }
    let unwanted = event(|event| event.topic("three"));
    let refused = publisher.publish(&unwanted).await;
    let refused = refused.expect_err("nobody wants it");
    assert_eq!(refused.kind(), PublishErrorKind::Permanent);
    assert_eq!((one.posted().len(), two.posted().len()), (1, 2));
}

#[tokio::test]
async fn neither_a_secret_nor_what_is_behind_the_host_shows() {
    let receiver = Receiver::start(|_| StatusCode::NOT_FOUND).await;
    let publisher = to(receiver.endpoint()).build().expect("a publisher");
    let error = publish(&publisher).await.expect_err("not found");
    drop(receiver);
    let url = "http://127.0.0.1:1/hooks?token=17";
    let unreachable = to(endpoint(url)).build().expect("a publisher");
    let refused = publish(&unreachable).await.expect_err("nobody is there");
    let shown = format!(
        "{error} {error:?} {refused} {refused:?} {publisher:?} {:?} {:?}",
        endpoint(url),
        SECRET.parse::<WebhookSecret>()
    );
    for hidden in [&SECRET[6..], "token", "/hooks"] {
        assert!(!shown.contains(hidden), "{hidden} in {shown}");
    }
}

#[test]
fn an_unfit_endpoint_is_refused_before_an_event_needs_it() {
    let new = |url: &str| Endpoint::new(url, SECRET.parse().expect("a secret"));
    for (url, text) in [
        ("/hooks", "absolute"),
        ("https://", "absolute"),
        ("ftp://receiver.test/", "`ftp`"),
        ("file:///etc/passwd", "`file`"),
        ("https://user:word@receiver.test/", "password"),
    ] {
        let error = new(url).expect_err(url).to_string();
        assert!(error.contains(text), "{error}");
    }
    let short = "whsec_c2hvcnQ=".parse::<WebhookSecret>();
    assert_eq!(short, Err(WebhookSecretError::Length { bytes: 5 }));
}
