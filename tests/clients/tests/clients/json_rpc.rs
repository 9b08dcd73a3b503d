//! The client that `idem client typescript` generates, against the real service behind a proxy that does harm.

use idem_tests_clients::install;
use idem_tests_clients::proxy::Proxy;
use idem_tests_jsonrpc::Shop;
use tokio::net::TcpListener;
use tokio::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_client_has_one_effect_for_each_call() {
    let client = install::typescript();
    // It does not compile if the types that users write are wrong.
    let compiler = client.join("node_modules/.bin/tsc");
    let mut compile = std::process::Command::new(compiler);
    install::run(
        compile
            .args(["--project", "test/rpc/tsconfig.json"])
            .current_dir(&client),
    );
    let shop = Shop::open().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let proxy = tokio::spawn(Proxy::before(shop.url()).serve(listener));
    let output = Command::new("node")
        .args(["--test", "--test-reporter=tap", "test/rpc/shop.test.js"])
        .env("IDEM_SHOP", format!("http://{address}"))
        .current_dir(&client)
        .kill_on_drop(true)
        .output()
        .await
        .expect("Node is there");
    proxy.abort();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("# pass 6") && text.contains("# fail 0"),
        "{text}"
    );
}
