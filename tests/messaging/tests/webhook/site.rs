//! A receiver, and publishers that may reach it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::{IntoResponse, Response};
use idem_messaging::broker::webhook::{Endpoint, Resolver, WebhookBuilder, WebhookPublisher};
use idem_messaging::outbox::{Event, EventBuilder, Origin, OutboxEvent, PublishError, Publisher};
use idem_runtime::record::Timestamp;
use idem_runtime::{IdempotencyKey, Operation};
use idem_tests::patience::in_time;
use tokio::net::TcpListener;

const OPERATION: Operation = Operation::new("facts", "note");

pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
pub(crate) const OTHER_SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Posted {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Posted {
    pub(crate) fn header(&self, name: &str) -> &str {
        let values: Vec<_> = self.headers.get_all(name).iter().collect();
        let [value] = values[..] else {
            panic!("{name} is there {} times", values.len())
        };
        value.to_str().expect("a text")
    }
}

/// A real HTTP server that remembers what was posted to it.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    posted: Arc<Mutex<Vec<Posted>>>,
}

impl Receiver {
    /// Starts a receiver on 127.0.0.1 whose answer to request number `n`, from 0, is `answer(n)`.
    pub(crate) async fn start<T: IntoResponse>(
        answer: impl Fn(usize) -> T + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), answer).await
    }

    pub(crate) async fn start_at<T: IntoResponse>(
        address: SocketAddr,
        answer: impl Fn(usize) -> T + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let posted = Arc::<Mutex<Vec<Posted>>>::default();
        let log = Arc::clone(&posted);
        let handle = async move |method, uri, headers, body| -> Response {
            let number = {
                let mut log = log.lock().expect("no panic");
                log.push(Posted {
                    method,
                    uri,
                    headers,
                    body,
                });
                log.len() - 1
            };
            answer(number).into_response()
        };
        let router: Router = Router::new().fallback(handle);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, posted }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hooks?token=17", self.address)
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        endpoint(&self.url())
    }

    pub(crate) fn posted(&self) -> Vec<Posted> {
        self.posted.lock().expect("no panic").clone()
    }
}

pub(crate) fn endpoint(url: &str) -> Endpoint {
    Endpoint::new(url, SECRET.parse().expect("a secret")).expect("an endpoint")
}

/// A publisher to this endpoint alone, which may be on 127.0.0.1.
pub(crate) fn to(endpoint: Endpoint) -> WebhookBuilder<Endpoint> {
    WebhookPublisher::builder(endpoint)
        .allow_http()
        .allow_network("127.0.0.1")
}

/// A publisher that has chosen this endpoint among several.
pub(crate) fn one_of_several(
    endpoint: Endpoint,
) -> WebhookBuilder<impl Fn(&OutboxEvent) -> Result<Endpoint, PublishError>> {
    WebhookPublisher::builder(move |_: &OutboxEvent| Ok(endpoint.clone()))
        .allow_http()
        .allow_network("127.0.0.1")
}

pub(crate) fn event(build: impl FnOnce(EventBuilder) -> EventBuilder) -> OutboxEvent {
    let key: IdempotencyKey = "a-key".parse().expect("a key");
    let origin = Origin::of(OPERATION, &key.global()).expect("an origin");
    let builder = Event::builder(&origin, "noted")
        .topic("facts")
        .event_type("com.example.noted")
        .json(&"hello");
    let event = build(builder).build().expect("an event");
    OutboxEvent::new(event, Timestamp::from_micros(1_700_000_000_000_000), 1)
}

/// Publishes a plain event, and bounds a hang.
pub(crate) async fn publish(publisher: &impl Publisher) -> Result<(), PublishError> {
    let event = event(|event| event);
    in_time("the publisher answers", publisher.publish(&event)).await
}

/// A resolver whose answer number `n` is the `n`th of a list, and then the last one for ever.
#[derive(Clone)]
pub(crate) struct Script(Arc<Mutex<(usize, Vec<Vec<IpAddr>>)>>);

impl Script {
    pub(crate) fn new(answers: &[&[&str]]) -> Self {
        let parse = |text: &&str| text.parse().expect("an address");
        let answers = answers
            .iter()
            .map(|answer| answer.iter().map(parse).collect());
        Self(Arc::new(Mutex::new((0, answers.collect()))))
    }

    pub(crate) fn calls(&self) -> usize {
        self.0.lock().expect("no panic").0
    }
}

impl Resolver for Script {
    async fn resolve(&self, _host: &str) -> io::Result<Vec<IpAddr>> {
        let mut script = self.0.lock().expect("no panic");
        let next = script.0.min(script.1.len() - 1);
        script.0 += 1;
        Ok(script.1[next].clone())
    }
}

/// A port that nobody may connect to.
pub(crate) struct Planted(StdListener);

impl Planted {
    pub(crate) fn at(address: impl Into<SocketAddr>) -> Self {
        let listener = StdListener::bind(address.into()).expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        Self(listener)
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().expect("an address").port()
    }

    /// Checks that nobody has connected: the kernel queues a connection before its client knows of it.
    pub(crate) fn assert_untouched(&self) {
        let accepted = self.0.accept().expect_err("nobody connects");
        assert_eq!(accepted.kind(), io::ErrorKind::WouldBlock, "{accepted}");
    }
}
