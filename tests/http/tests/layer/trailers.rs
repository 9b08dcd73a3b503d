//! Trailers, which not every server sends.

use tokio::process::Command;

use crate::relay::Relay;

#[tokio::test]
async fn trailers_are_recorded() {
    let relay = Relay::open().await;
    let mut bodies = Vec::new();
    for _ in 0..2 {
        let output = Command::new("curl")
            .args([
                "--silent",
                "--show-error",
                "--raw",
                "--http1.1",
                "--data",
                "tea",
            ])
            .args(["--header", "te: trailers", "--header", "x-tenant: acme"])
            .args(["--header", "idempotency-key: a"])
            .arg(format!("{}/trailers", relay.url))
            .output();
        let output = output.await.expect("curl is there");
        assert!(output.status.success(), "{output:?}");
        bodies.push(String::from_utf8(output.stdout).expect("text"));
    }
    assert_eq!(bodies, ["3\r\none\r\n0\r\nx-checksum: 17\r\n\r\n"; 2]);
    assert_eq!(relay.runs(), 1);
}
