//! Runs the program.

use std::process::Stdio;

use idem_tests::patience::in_time;
use serde_json::Value;
use tokio::process::Command;

use crate::subject::Subject;

/// What a run of the program has answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Answer {
    /// Returns the answer of a run that was done.
    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// Asserts the exit code and a part of the sentence, and that the line that mends it is there if it must be.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, sentence: &str) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.err.contains(sentence), "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        self
    }

    /// Reads the output as JSON.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Runs the program on the database.
pub(crate) async fn idem<S: Subject>(subject: &S, args: &[&str]) -> Answer {
    run(&subject.url(), args).await
}

/// Runs the program on the database of a URL, without a terminal.
pub(crate) async fn run(url: &str, args: &[&str]) -> Answer {
    let mut command = Command::new(env!("CARGO_BIN_EXE_idem"));
    command
        .args(args)
        .env("DATABASE_URL", url)
        .env("USER", "ada")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = in_time("the program", command.output()).await;
    let output = output.expect("the program runs");
    Answer {
        code: output.status.code().expect("no signal has ended it"),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

/// Runs a command that changes something, signed and confirmed.
pub(crate) async fn signed<S: Subject>(subject: &S, args: &[&str]) -> Answer {
    let signature = ["--reason", "ticket 17", "--yes"];
    idem(subject, &[args, &signature].concat()).await
}
