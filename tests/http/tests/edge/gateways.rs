//! A handler that takes longer than the gateway before it waits.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use idem_axum::Detached;
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::patience::in_time;
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use crate::shop::Shop;

/// One of the two before a shop, at a socket in a directory of its own.
struct Gateway {
    socket: PathBuf,
    _child: Child,
    _dir: TempDir,
}

/// What came through: the status, and whether it is a replay.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    status: u16,
    replayed: bool,
}

impl Gateway {
    async fn nginx(shop: &Shop) -> Self {
        let conf = |dir: &str| {
            let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
            let temporary = temporary.map(|name| format!("{name}_temp_path {dir}/{name};"));
            format!(
                "daemon off; master_process off; pid {dir}/pid;
                 error_log {dir}/error.log;
                 events {{}}
                 http {{
                     access_log off; {}
                     server {{
                         listen unix:{dir}/socket;
                         location / {{ proxy_pass {}; proxy_read_timeout 500ms; }}
                     }}
                 }}",
                temporary.concat(),
                shop.url
            )
        };
        Self::start("nginx", &["-e", "stderr", "-c"], conf).await
    }

    async fn haproxy(shop: &Shop) -> Self {
        let conf = |dir: &str| {
            format!(
                "defaults\n mode http\n timeout connect 1m\n timeout client 1m\n timeout server 500ms\n\
                 frontend gateway\n bind unix@{dir}/socket\n default_backend shop\n\
                 backend shop\n server shop 127.0.0.1:{}\n",
                shop.port
            )
        };
        Self::start("haproxy", &["-db", "-f"], conf).await
    }

    async fn start(name: &str, arguments: &[&str], conf: impl FnOnce(&str) -> String) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("conf");
        let conf = conf(dir.path().to_str().expect("text"));
        fs::write(&file, conf).expect("written");
        let mut child = Command::new(name)
            .args(arguments)
            .arg(file)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("Debian's nginx and haproxy are installed, by `cargo xtask test` or by hand");
        let socket = dir.path().join("socket");
        in_time("the gateway does not listen", async {
            while UnixStream::connect(&socket).await.is_err() {
                let ended = child.try_wait().expect("its state");
                assert!(ended.is_none(), "{name} ended: {ended:?}");
                tokio::task::yield_now().await;
            }
        })
        .await;
        Self {
            socket,
            _child: child,
            _dir: dir,
        }
    }

    /// The answer to an order of tea.
    async fn order(&self, key: &str) -> Answer {
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--include", "--unix-socket"])
            .arg(&self.socket)
            .args(["--header", "content-type: application/json"])
            .args(["--header", "x-tenant: acme"])
            .args(["--header", &format!("idempotency-key: \"{key}\"")])
            .args(["--data", r#"{"item":"tea"}"#, "http://shop/orders"])
            .output()
            .await
            .expect("curl is there");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        let status = text
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Answer {
            status: status.expect("a status"),
            replayed: text.to_lowercase().contains("idempotent-replayed: true"),
        }
    }

    /// The first answer that is the shop's, however busy this machine is.
    async fn insist(&self, key: &str) -> Answer {
        in_time("the gateway answers 504 for ever", async {
            loop {
                let answer = self.order(key).await;
                if answer.status != 504 {
                    break answer;
                }
            }
        })
        .await
    }
}

async fn a_slow_handler(gateway: impl AsyncFnOnce(&Shop) -> Gateway) {
    let detached = Detached::new(4);
    let layer = detached.clone();
    let shop = Shop::open_with(|routes| routes.route_layer(layer)).await;
    let gateway = gateway(&shop).await;
    let key = format!("gateway-{}", shop.port);
    let gate = Gate::at(&key, GatePoint::BeforeWrite);
    // The gate stays closed until the gateway has given up.
    assert_eq!(gateway.order(&key).await.status, 504);
    gate.entered().await;
    for _ in 0..3 {
        assert_eq!(gateway.insist(&key).await.status, 409);
    }
    gate.open();
    detached.drain().await;
    let replay = Answer {
        status: 201,
        replayed: true,
    };
    assert_eq!(gateway.insist(&key).await, replay);
    assert_eq!(shop.count().await, (1, 1));
}

#[tokio::test]
async fn a_handler_that_outlasts_nginx_has_its_effect_once_and_a_retry_gets_it() {
    a_slow_handler(async |shop| Gateway::nginx(shop).await).await;
}

#[tokio::test]
async fn a_handler_that_outlasts_haproxy_has_its_effect_once_and_a_retry_gets_it() {
    a_slow_handler(async |shop| Gateway::haproxy(shop).await).await;
}
