//! Uploads: each attempt of a client has another boundary.

use reqwest::RequestBuilder;
use tokio::process::Command;

use crate::relay::{Relay, refusal, send};

/// What curl gets for a form of these fields: status and body.
async fn curl(relay: &Relay, key: &str, form: &[&str]) -> (u16, String) {
    let mut command = Command::new("curl");
    command
        .args(["--silent", "--show-error", "--write-out", "\n%{http_code}"])
        .args(["--header", "x-tenant: acme"])
        .args(["--header", &format!("idempotency-key: {key}")]);
    for field in form {
        command.args(["--form", field]);
    }
    let output = command.arg(format!("{}/order", relay.url)).output();
    let output = output.await.expect("curl is there");
    assert!(output.status.success(), "{output:?}");
    let answer = String::from_utf8(output.stdout).expect("text");
    let (body, status) = answer.rsplit_once('\n').expect("a status");
    (status.parse().expect("a number"), body.to_owned())
}

const FILE: &str = "file=one\ttwo;filename=a.csv;type=text/csv";

#[tokio::test]
async fn an_upload_that_is_sent_again_is_one_request_whatever_its_boundary() {
    let relay = Relay::open().await;
    let first = curl(&relay, "a", &["note=tea", FILE]).await;
    assert_eq!(first.0, 201);
    assert_eq!(curl(&relay, "a", &["note=tea", FILE]).await, first);
    assert_eq!(relay.runs(), 1);
}

#[tokio::test]
async fn an_upload_that_differs_in_a_part_is_another_request() {
    let relay = Relay::open().await;
    assert_eq!(curl(&relay, "a", &["note=tea", FILE]).await.0, 201);
    let others: [&[&str]; 8] = [
        &["note=tee", FILE],
        &["mark=tea", FILE],
        &[FILE, "note=tea"],
        &["note=tea"],
        &["note=tea", FILE, "note=tea"],
        &["note=tea", "file=one\ttwo;filename=b.csv;type=text/csv"],
        &["note=tea", "file=one\ttwo;filename=a.csv;type=text/plain"],
        &["note=tea", "file=one\tthree;filename=a.csv;type=text/csv"],
    ];
    for other in others {
        let (status, body) = curl(&relay, "a", other).await;
        assert_eq!(status, 422, "{other:?}");
        assert!(body.contains(r#""code":"mismatch""#), "{other:?}: {body}");
    }
    assert_eq!(relay.runs(), 1);
}

/// The same by hand.
fn upload(relay: &Relay, content_type: &str, body: &'static str) -> RequestBuilder {
    let request = relay
        .post("order", "a")
        .header("content-type", content_type);
    request.body(body)
}

#[tokio::test]
async fn an_upload_whose_retry_could_not_be_told_is_refused_before_the_service_runs() {
    let relay = Relay::open().await;
    let form = "multipart/form-data; boundary=b";
    for (content_type, body) in [
        (form, "--b\r\n\r\ntea"),
        (form, "--b\n\ntea\n--b--\n"),
        (form, "--b\r\n\r\n--b\r\n--b--"),
        ("multipart/form-data", "--b\r\n\r\ntea\r\n--b--\r\n"),
    ] {
        let refused = refusal(upload(&relay, content_type, body)).await;
        assert_eq!(refused, (400, "request-unreadable".to_owned()), "{body:?}");
    }
    assert_eq!(relay.runs(), 0);
    let whole = upload(&relay, form, "--b\r\n\r\ntea\r\n--b--\r\n");
    assert_eq!(send(whole).await.0, 201);
}
