//! A node of the service: a process of the program `deployed`.

use std::process::Stdio;

use idem_tests::patience::in_time;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A call in another process.
pub(crate) struct Node {
    _process: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Node {
    /// Starts a call of this build.
    pub(crate) fn start(build: &str, url: &str, way: &str, key: &str, amount: i64) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_deployed"))
            .args([build, url, way, key, &amount.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the node starts");
        let input = process.stdin.take().expect("piped");
        let output = process.stdout.take().expect("piped");
        Self {
            _process: process,
            input,
            lines: BufReader::new(output).lines(),
        }
    }

    /// Returns the next line: `working`, or the answer.
    pub(crate) async fn line(&mut self) -> String {
        let line = in_time("a line of the node", self.lines.next_line()).await;
        line.expect("text").expect("a line before the end")
    }

    /// Lets the body, which must be working, end, and returns the answer.
    pub(crate) async fn finish(&mut self) -> String {
        self.input.write_all(b"\n").await.expect("it listens");
        self.line().await
    }
}

/// Makes a call that runs the body, and returns the answer.
pub(crate) async fn runs(build: &str, url: &str, way: &str, key: &str, amount: i64) -> String {
    let mut node = Node::start(build, url, way, key, amount);
    assert_eq!(node.line().await, "working", "{build} runs {key}");
    node.finish().await
}

/// Makes a call that does not run the body, and returns the answer.
pub(crate) async fn answers(build: &str, url: &str, way: &str, key: &str, amount: i64) -> String {
    let answer = Node::start(build, url, way, key, amount).line().await;
    assert_ne!(answer, "working", "{build} does not run {key}");
    answer
}
