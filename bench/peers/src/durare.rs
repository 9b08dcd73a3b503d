//! durare, asked line by line in the process of its own (`durare/`).

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::Fault;

pub(crate) struct Durare {
    child: Child,
    questions: ChildStdin,
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
        let questions = child.stdin.take().ok_or("it has a standard input")?;
        let answers = child.stdout.take().ok_or("it has a standard output")?;
        let mut durare = Self {
            child,
            questions,
            answers: BufReader::new(answers),
        };
        match durare.answer()?.trim() {
            "ready" => Ok(durare),
            other => Err(format!("durare is not ready: {other}").into()),
        }
    }

    /// How long a payment without durare takes, and its id.
    pub(crate) fn plain(&mut self, account: i64) -> Result<(Duration, i64), Fault> {
        self.ask(&format!("plain {account}"))
    }

    pub(crate) fn pay(&mut self, key: &str, account: i64) -> Result<(Duration, i64), Fault> {
        self.ask(&format!("pay {key} {account}"))
    }

    fn ask(&mut self, question: &str) -> Result<(Duration, i64), Fault> {
        writeln!(self.questions, "{question}")?;
        self.questions.flush()?;
        // This waits for another process: the other tasks of this thread go elsewhere.
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
        // It ends itself with its input; what it is in the middle of is of no use.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
