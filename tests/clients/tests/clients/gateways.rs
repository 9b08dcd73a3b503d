//! Gateways that send a request again by themselves.

use std::path::PathBuf;
use std::process::Stdio;

use idem_tests::patience::in_time;
use idem_tests_clients::Town;
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use crate::trials;

/// A gateway in front of the proxy, at a socket in a directory of its own.
struct Gateway {
    socket: PathBuf,
    _child: Child,
    _dir: TempDir,
}

impl Gateway {
    async fn start(name: &str, arguments: &[&str], conf: impl FnOnce(&str) -> String) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let socket = dir.path().join("socket");
        let file = dir.path().join("conf");
        std::fs::write(&file, conf(dir.path().to_str().expect("text"))).expect("written");
        let mut child = Command::new(name)
            .args(arguments)
            .arg(file)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("Debian's nginx and haproxy are installed, by `cargo xtask test` or by hand");
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
}

async fn nginx(town: &Town, next: &str) -> Gateway {
    let server = town.url.trim_start_matches("http://").to_owned();
    let conf = move |dir: &str| {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary = temporary.map(|name| format!("{name}_temp_path {dir}/{name};"));
        format!(
            "daemon off; master_process off; pid {dir}/pid; error_log {dir}/error.log;
             events {{}}
             http {{
                 access_log off; {}
                 upstream town {{ server {server} max_fails=0; server {server} max_fails=0; }}
                 server {{ listen unix:{dir}/socket; location / {{ proxy_pass http://town; {next} }} }}
             }}",
            temporary.concat(),
        )
    };
    Gateway::start("nginx", &["-e", "stderr", "-c"], conf).await
}

async fn haproxy(town: &Town, retry: &str) -> Gateway {
    let server = town.url.trim_start_matches("http://").to_owned();
    let conf = move |dir: &str| {
        format!(
            "defaults\n mode http\n timeout connect 1m\n timeout client 1m\n timeout server 1m\n\
             frontend gateway\n bind unix@{dir}/socket\n default_backend town\n\
             backend town\n retries 3\n{retry} server town {server}\n"
        )
    };
    Gateway::start("haproxy", &["-db", "-f"], conf).await
}

/// Returns the table of the gateways. The client behind each is curl, which does not retry.
pub(crate) async fn table() -> String {
    let mut table = String::from(
        "| gateway | answer lost | cut in the middle | 502 after COMMIT | 409 `in-flight` | 425 |\n|---|---|---|---|---|---|\n",
    );
    let healing = "proxy_next_upstream error timeout http_502 http_503 http_504 non_idempotent;";
    let without = healing.replace(" non_idempotent", "");
    for (setting, next) in [
        ("nginx", ""),
        (
            "nginx, `proxy_next_upstream error timeout http_502 http_503 http_504`",
            without.as_str(),
        ),
        ("nginx, the same with `non_idempotent`", healing),
    ] {
        let town = Town::open().await;
        let gateway = nginx(&town, next).await;
        table.push_str(&through(&town, &gateway, setting).await);
    }
    for (setting, retry) in [
        ("HAProxy", ""),
        (
            "HAProxy, `retry-on all-retryable-errors`",
            " retry-on all-retryable-errors\n",
        ),
    ] {
        let town = Town::open().await;
        let gateway = haproxy(&town, retry).await;
        table.push_str(&through(&town, &gateway, setting).await);
    }
    table
}

async fn through(town: &Town, gateway: &Gateway, setting: &str) -> String {
    let run = |urls: &[String]| {
        let ended = urls.iter().map(|url| {
            let socket = gateway.socket.to_str().expect("text");
            let item = url.split('/').nth(4).expect("a name");
            trials::by_curl(&["--unix-socket", socket], url, item)
        });
        ended.collect::<Vec<_>>().join("\n")
    };
    trials::row(town, setting, run).await
}
