//! curl talks to the example.

use std::env::{self, consts::EXE_SUFFIX};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// The running example. It ends when this is dropped.
struct Shop(Child);

impl Drop for Shop {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn curl(url: &str, headers: &[&str], meta: &str) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"orders.place","params":{{"item":"tea"{meta}}}}}"#
    );
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--fail", url, "--data", &body]);
    for header in ["content-type: application/json"].iter().chain(headers) {
        command.args(["--header", header]);
    }
    let output = command.output().expect("curl is there");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_call_is_sent_twice_and_has_one_effect() {
    let own = env::current_exe().expect("a test has a file");
    let target = own.ancestors().nth(2).expect("tests are in target/*/deps");
    let program = target.join("examples").join(format!("orders{EXE_SUFFIX}"));
    let mut shop = Command::new(&program);
    let shop = shop.stdout(Stdio::piped()).spawn();
    let mut shop = Shop(shop.unwrap_or_else(|error| panic!("{}: {error}", program.display())));
    // It is read until the end, since the example prints on.
    let mut out = BufReader::new(shop.0.stdout.take().expect("it is piped"));
    let mut url = String::new();
    out.read_line(&mut url).expect("a line");
    let url = url.trim();
    let meta = r#","_meta":{"dev.idem/idempotencyKey":"8e03978e"}"#;
    let first = curl(url, &[], meta);
    assert_eq!(first, r#"{"jsonrpc":"2.0","id":1,"result":{"number":1}}"#);
    let again = curl(url, &[], meta);
    assert!(
        again.contains(r#""result":{"number":1,"_meta":{"dev.idem/idempotentReplayed":true}}"#),
        "{again}"
    );
    // The header is the same key.
    assert_eq!(curl(url, &[r#"Idempotency-Key: "8e03978e""#], ""), again);
    let refused = curl(url, &[], "");
    assert!(refused.contains(r#""code":"key-missing""#), "{refused}");
}
