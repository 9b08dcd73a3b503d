//! Over standard input and output: the client is a host, which starts the server as its child.

use idem_tests::patience::in_time;
use rmcp::service::{Peer, RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ServiceExt as _, model::CallToolResult};
use tokio::process::Command;

use crate::client::{Asked, call, content, is_replay};
use crate::server::Shop;

/// A host with its server.
struct Host {
    client: RunningService<RoleClient, ()>,
    server: u32,
}

impl Host {
    /// Starts a server on the database of `shop`.
    async fn start(shop: &Shop) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_mcp-shop"));
        program.arg(shop.database.url());
        let child = TokioChildProcess::new(program).expect("a program of ours");
        let server = child.id().expect("it runs");
        let client = ().serve(child).await.expect("a session");
        Self { client, server }
    }

    /// Kills the server by SIGKILL, and waits until the host has noticed.
    async fn kill(self) {
        kill(self.server).await;
        let session = in_time("the host does not notice", self.client.waiting());
        session.await.expect("no panic");
    }
}

async fn kill(process: u32) {
    let mut program = Command::new("kill");
    let sent = program.args(["-KILL", &process.to_string()]).status();
    assert!(sent.await.expect("a program of the system").success());
}

async fn placed(call: Asked, client: &Peer<RoleClient>) -> CallToolResult {
    call.send(client).await.expect("placed")
}

/// Each way in which a key comes, with the number of its order.
fn each_key() -> [(Asked, i64); 3] {
    [
        (call("place_by_host", "tea").hosted("a"), 1),
        (call("place_order", "tea").keyed("b"), 2),
        (call("ship", "tea"), 3),
    ]
}

#[tokio::test]
async fn over_standard_input_and_output_each_key_has_one_effect_and_a_replay_is_marked() {
    let shop = Shop::open().await;
    let host = Host::start(&shop).await;
    for replayed in [false, true, true] {
        for (call, number) in each_key() {
            let placed = placed(call, &host.client).await;
            assert_eq!(content(&placed)["number"], number);
            assert_eq!(is_replay(&placed), replayed);
        }
    }
    assert_eq!(shop.count().await, (3, 3));
}

#[tokio::test]
async fn a_server_that_is_killed_and_started_anew_replays_what_the_former_one_did() {
    let shop = Shop::open().await;
    let host = Host::start(&shop).await;
    for (call, _) in each_key() {
        assert!(!is_replay(&placed(call, &host.client).await));
    }
    host.kill().await;
    let host = Host::start(&shop).await;
    for (call, number) in each_key() {
        let placed = placed(call, &host.client).await;
        assert_eq!(content(&placed)["number"], number);
        assert!(is_replay(&placed));
    }
    assert_eq!(shop.count().await, (3, 3));
}

/// Whether the host got the answer is left to chance; its retry gets the replay in any case.
#[tokio::test]
async fn a_server_that_is_killed_as_soon_as_its_commit_is_seen_has_its_whole_effect() {
    let shop = Shop::open().await;
    let host = Host::start(&shop).await;
    let (client, server) = (host.client.clone(), host.server);
    let going = tokio::spawn(async move {
        let call = call("place_order", "tea").keyed("a");
        // The server may end before it has answered.
        let gone = tokio::spawn(async move { call.send(&client).await.map(drop) });
        let _ = gone.await;
    });
    in_time("the order is not placed", async {
        while shop.count().await == (0, 0) {}
    })
    .await;
    kill(server).await;
    going.await.expect("no panic");
    let host = Host::start(&shop).await;
    let again = placed(call("place_order", "tea").keyed("a"), &host.client).await;
    assert_eq!(content(&again)["number"], 1);
    assert!(is_replay(&again));
    assert_eq!(shop.count().await, (1, 1));
}
