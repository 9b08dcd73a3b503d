//! durare in its own process (`durare/`), with one request a line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::Fault;

pub(crate) struct Durare {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Durare {
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Result<Self, Fault> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let requests = child.stdin.take().ok_or("it has a standard input")?;
        let answers = child.stdout.take().ok_or("it has a standard output")?;
        let mut durare = Self {
            child,
            requests,
            answers: BufReader::new(answers),
        };
        match durare.answer()?.trim() {
            "ready" => Ok(durare),
            other => Err(format!("durare is not ready: {other}").into()),
        }
    }

    /// Makes a payment without durare. Returns the time taken and the payment's id.
    pub(crate) fn plain(&mut self, account: i64) -> Result<(Duration, i64), Fault> {
        self.request(&format!("plain {account}"))
    }

    pub(crate) fn pay(&mut self, key: &str, account: i64) -> Result<(Duration, i64), Fault> {
        self.request(&format!("pay {key} {account}"))
    }

    fn request(&mut self, request: &str) -> Result<(Duration, i64), Fault> {
        writeln!(self.requests, "{request}")?;
        self.requests.flush()?;
        // Waits for another process, so the other tasks of this thread move to another one.
        let answer = tokio::task::block_in_place(|| self.answer())?;
        let (nanos, id) = answer.trim().split_once(' ').ok_or("durare has ended")?;
        Ok((Duration::from_nanos(nanos.parse()?), id.parse()?))
    }

    fn answer(&mut self) -> Result<String, Fault> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line)
    }
}

impl Drop for Durare {
    fn drop(&mut self) {
        // The process ends with its input; the result of its current command is not needed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
