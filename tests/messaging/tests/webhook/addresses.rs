//! Which addresses are dialled.

use std::env;
use std::net::{Ipv6Addr, SocketAddr};
use std::process::Command;

use axum::http::StatusCode;
use idem_messaging::broker::webhook::{WebhookError, WebhookPublisher};
use idem_messaging::outbox::PublishErrorKind;

use super::site::{Planted, Receiver, Script, endpoint, publish, to};

#[tokio::test]
async fn a_private_address_in_the_url_is_refused_in_each_of_its_spellings_and_nobody_connects() {
    let planted = Planted::at(([127, 0, 0, 1], 0));
    let port = planted.port();
    let six = Planted::at((Ipv6Addr::LOCALHOST, port));
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "0177.0.0.1",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "0.0.0.0",
        "0",
        "[::]",
        "10.0.0.1",
        "169.254.169.254",
    ] {
        let endpoint = endpoint(&format!("http://{host}:{port}/hooks"));
        let publisher = WebhookPublisher::builder(endpoint).allow_http();
        let publisher = publisher.build().expect("a publisher");
        let error = publish(&publisher).await.expect_err(host);
        assert_eq!(error.kind(), PublishErrorKind::Permanent, "{host}: {error}");
        assert!(error.to_string().contains("not dialled"), "{host}: {error}");
    }
    planted.assert_untouched();
    six.assert_untouched();
}

#[tokio::test]
async fn a_name_with_a_private_address_is_refused_and_nobody_connects() {
    let planted = Planted::at(([127, 0, 0, 1], 0));
    let url = format!("http://receiver.test:{}/hooks", planted.port());
    for addresses in [
        &["127.0.0.1"][..],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::7f00:1"],
        &["10.0.0.1", "127.0.0.1"],
    ] {
        let publisher = WebhookPublisher::builder(endpoint(&url))
            .allow_http()
            .resolver(Script::new(&[addresses]))
            .build()
            .expect("a publisher");
        let error = publish(&publisher).await.expect_err("refused");
        // The name may have another address later.
        assert_eq!(error.kind(), PublishErrorKind::Retry, "{error}");
        assert!(error.to_string().contains("not dialled"), "{error}");
    }
    // The system's own resolver is checked as well.
    let local = endpoint(&format!("http://localhost:{}/hooks", planted.port()));
    let publisher = WebhookPublisher::builder(local).allow_http();
    let publisher = publisher.build().expect("a publisher");
    let error = publish(&publisher).await.expect_err("refused");
    assert!(error.to_string().contains("not dialled"), "{error}");
    planted.assert_untouched();
}

#[tokio::test]
async fn of_several_addresses_only_those_that_may_be_are_dialled() {
    let receiver = Receiver::start_at(SocketAddr::from(([127, 0, 0, 2], 0)), |_| {
        (StatusCode::OK, [("connection", "close")])
    })
    .await;
    let port = receiver.address.port();
    let planted = Planted::at(([127, 0, 0, 1], port));
    let publisher = WebhookPublisher::builder(endpoint(&format!("http://receiver.test:{port}/")))
        .allow_http()
        .allow_network("127.0.0.2")
        .resolver(Script::new(&[&["127.0.0.1", "127.0.0.2"]]))
        .build()
        .expect("a publisher");
    publish(&publisher).await.expect("published");
    planted.assert_untouched();
    assert_eq!(receiver.posted().len(), 1);
}

#[tokio::test]
async fn a_name_that_changes_its_address_after_the_check_is_dialled_where_it_was_checked() {
    let receiver = Receiver::start_at(SocketAddr::from(([127, 0, 0, 2], 0)), |_| {
        // So that each attempt needs a connection of its own.
        (StatusCode::OK, [("connection", "close")])
    })
    .await;
    let port = receiver.address.port();
    let planted = Planted::at(([127, 0, 0, 1], port));
    let names = Script::new(&[&["127.0.0.2"], &["127.0.0.1"]]);
    let publisher = WebhookPublisher::builder(endpoint(&format!("http://receiver.test:{port}/")))
        .allow_http()
        .allow_network("127.0.0.2/32")
        .resolver(names.clone())
        .build()
        .expect("a publisher");
    publish(&publisher).await.expect("published");
    assert_eq!(
        names.calls(),
        1,
        "a second answer would not be the checked one"
    );
    let error = publish(&publisher).await.expect_err("refused");
    assert!(error.to_string().contains("not dialled"), "{error}");
    assert_eq!((names.calls(), receiver.posted().len()), (2, 1));
    planted.assert_untouched();
}

#[tokio::test]
async fn plain_http_must_be_allowed() {
    let receiver = Receiver::start(|_| StatusCode::OK).await;
    let publisher = WebhookPublisher::builder(receiver.endpoint()).allow_network("127.0.0.1");
    let publisher = publisher.build().expect("a publisher");
    let error = publish(&publisher).await.expect_err("refused");
    assert_eq!(error.kind(), PublishErrorKind::Permanent);
    assert!(error.to_string().contains("allow_http"), "{error}");
    assert!(receiver.posted().is_empty());
}

#[test]
fn what_is_no_network_or_no_certificate_makes_no_publisher() {
    let builder = || WebhookPublisher::builder(endpoint("https://receiver.test/"));
    let error = builder().allow_network("10.0.0.1/8").build().err();
    let network = "10.0.0.1/8".to_owned();
    assert_eq!(error, Some(WebhookError::Network { network }));
    let error = builder().root_certificates("no PEM").build().err();
    assert_eq!(error, Some(WebhookError::RootCertificate));
}

const IN_CHILD: &str = "IDEM_TEST_WEBHOOK_URL";

/// The environment of a process can be set for a child only: the test runs itself.
#[tokio::test]
async fn a_proxy_of_the_environment_is_not_used() {
    if let Ok(url) = env::var(IN_CHILD) {
        let publisher = to(endpoint(&url)).build().expect("a publisher");
        publish(&publisher).await.expect("published");
        return;
    }
    let receiver = Receiver::start(|_| StatusCode::OK).await;
    let proxy = Planted::at(([127, 0, 0, 1], 0));
    let url = format!("http://127.0.0.1:{}", proxy.port());
    let mut child = Command::new(env::current_exe().expect("this test"));
    child
        .args([
            "--exact",
            "addresses::a_proxy_of_the_environment_is_not_used",
        ])
        .env(IN_CHILD, receiver.url());
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        child.env(name, &url);
    }
    for name in ["NO_PROXY", "no_proxy", "REQUEST_METHOD"] {
        child.env_remove(name);
    }
    let ended = tokio::task::spawn_blocking(move || child.output()).await;
    let ended = ended.expect("no panic").expect("it starts");
    assert!(ended.status.success(), "{ended:?}");
    proxy.assert_untouched();
    assert_eq!(receiver.posted().len(), 1);
}
