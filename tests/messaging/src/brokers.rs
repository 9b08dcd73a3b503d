//! The brokers that the tests of a run share.
//!
//! A test names its streams and queues by [`fresh`], so that no two of them meet.

use std::env;
use std::sync::OnceLock;

use idem_tests::proxy::Route;
use idem_tests_cluster::broker::{NatsServer, RabbitMqServer};

/// A static is never dropped; the servers end with the process.
static NATS: OnceLock<NatsServer> = OnceLock::new();
static RABBITMQ: OnceLock<RabbitMqServer> = OnceLock::new();

/// Returns the port of the run's NATS server, else of one of this process.
///
/// # Panics
/// No server can be started.
pub fn nats() -> u16 {
    told_by("IDEM_TEST_NATS").unwrap_or_else(|| {
        let start = || NatsServer::start().unwrap_or_else(|error| panic!("no NATS: {error}"));
        NATS.get_or_init(start).port()
    })
}

/// Returns the port of the run's RabbitMQ server, else of one of this process.
///
/// # Panics
/// No server can be started.
pub fn rabbitmq() -> u16 {
    told_by("IDEM_TEST_RABBITMQ").unwrap_or_else(|| {
        let start =
            || RabbitMqServer::start().unwrap_or_else(|error| panic!("no RabbitMQ: {error}"));
        RABBITMQ.get_or_init(start).port()
    })
}

fn told_by(variable: &str) -> Option<u16> {
    let port = env::var(variable).ok().filter(|port| !port.is_empty())?;
    let parsed = port.parse();
    Some(parsed.unwrap_or_else(|error| panic!("{variable} is no port: {error}")))
}

/// Returns a name that no other test has.
pub fn fresh(name: &str) -> String {
    format!("{name}-{}", uuid::Uuid::new_v4().simple())
}

/// The end of a payload at whose publication a proxy cuts the connection.
pub const CUT: &str = "cut at this confirm\"}";

/// A port on 127.0.0.1 that is reached through a [`Proxy`](idem_tests::proxy::Proxy), which has a say at the publication of a
/// payload that ends in [`CUT`].
#[derive(Clone, Copy, Debug)]
pub struct Port(pub u16);

impl Route for Port {
    /// A NATS payload is followed by a line end, and the last frame of an AMQP message by its end octet.
    const COMMIT: &'static [&'static [u8]] =
        &[b"cut at this confirm\"}\r\n", b"cut at this confirm\"}\xce"];

    fn target(&self) -> (String, u16) {
        ("127.0.0.1".to_owned(), self.0)
    }

    fn by(&self, port: u16) -> Self {
        Self(port)
    }
}
