//! Endpoints with `https`.

use std::sync::Arc;

use idem_messaging::broker::webhook::WebhookPublisher;
use idem_messaging::outbox::PublishErrorKind;
use idem_tests::patience::in_time;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::site::{Script, endpoint, publish};

/// Starts a server for `receiver.test`, and returns its port and its certificate.
async fn start() -> (u16, String) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["receiver.test".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a configuration");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut request = Vec::new();
            // The payload is its end.
            while !request.ends_with(b"\"hello\"") {
                let read = stream.read_buf(&mut request).await.expect("a request");
                assert!(read > 0, "the request is cut");
            }
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer).await.expect("an answer");
            stream.shutdown().await.expect("an end");
        }
    });
    (port, cert.pem())
}

#[tokio::test]
async fn an_endpoint_is_posted_to_if_its_certificate_is_trusted_and_is_for_its_name() {
    let (port, certificate) = start().await;
    let builder = |host: &str| {
        WebhookPublisher::builder(endpoint(&format!("https://{host}:{port}/hooks")))
            .allow_network("127.0.0.1")
            .resolver(Script::new(&[&["127.0.0.1"]]))
    };
    let trusting = builder("receiver.test").root_certificates(certificate.clone());
    let trusting = trusting.build().expect("a publisher");
    in_time("an answer", publish(&trusting))
        .await
        .expect("published");
    let unknown_issuer = builder("receiver.test");
    let other_name = builder("other.test").root_certificates(certificate);
    for refusing in [unknown_issuer, other_name] {
        let refusing = refusing.build().expect("a publisher");
        let error = publish(&refusing).await.expect_err("not trusted");
        assert_eq!(error.kind(), PublishErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("certificate"), "{error}");
    }
}
