//! A Prometheus server that scrapes one program.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use idem_tests::patience::in_time;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

pub(crate) struct Prometheus {
    port: u16,
    _process: Child,
    _dir: TempDir,
}

impl Prometheus {
    /// Starts a server that scrapes the program at this port each second, and waits until it is ready.
    pub(crate) async fn scraping(program: u16) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("idem-prometheus-")
            .tempdir();
        let dir = dir.expect("a temporary directory");
        let config = dir.path().join("prometheus.yml");
        let text = format!(
            "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: program\n    static_configs:\n      \
             - targets: ['127.0.0.1:{program}']\n"
        );
        fs::write(&config, text).expect("the directory can be written");
        let port = free_port();
        let mut process = start(&config, dir.path(), port);
        let log = process.stderr.take().expect("it is a pipe");
        let mut lines = BufReader::new(log).lines();
        let ready = async {
            let mut all = String::new();
            while let Some(line) = lines.next_line().await.expect("a log of text") {
                if line.contains("Server is ready") {
                    return;
                }
                writeln!(all, "{line}").expect("a string takes all");
            }
            panic!("the server has ended:\n{all}");
        };
        in_time("Prometheus is ready", ready).await;
        // Its log must not fill the pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self {
            port,
            _process: process,
            _dir: dir,
        }
    }

    /// Returns the result of a query at this moment: its series.
    pub(crate) async fn query(&self, expression: &str) -> Vec<Value> {
        let mut encoded = String::new();
        for byte in expression.bytes() {
            write!(encoded, "%{byte:02X}").expect("a string takes all");
        }
        let body = get(self.port, &format!("/api/v1/query?query={encoded}")).await;
        let answer: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        let series = answer["data"]["result"].as_array();
        series.expect("a vector").clone()
    }
}

fn start(config: &Path, data: &Path, port: u16) -> Child {
    Command::new("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", data.display()))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("prometheus of the package prometheus: `cargo xtask test` installs it")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Returns the body of an answer.
async fn get(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port))
        .await
        .expect("it listens");
    let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("it reads");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .await
        .expect("it answers");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    body.to_owned()
}
