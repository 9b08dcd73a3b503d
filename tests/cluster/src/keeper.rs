//! The shell that executes commands for a server, and outlives the process to clean up after it.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::account::{Account, is_root};

/// A running script, such as `keeper.sh`, and the directory that it creates and finally removes.
#[derive(Debug)]
pub(crate) struct Keeper {
    child: Child,
    /// `None` once the keeper has been told to finish.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    dir: PathBuf,
}

impl Keeper {
    /// Runs `script` with the paths of the server's programs as its arguments.
    pub(crate) fn run(script: &str, programs: &[&Path]) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command
            .args(["-c", script, "keeper"])
            .args(programs)
            // The unprivileged account may not be allowed to read the current directory.
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A test runner would wait for the end of an inherited output.
            .stderr(Stdio::null())
            // Signals to the test's process group, such as Ctrl-C, must not reach the keeper.
            .process_group(0);
        if is_root()? {
            let Account { uid, gid } = Account::unprivileged()?;
            command.uid(uid).gid(gid);
        }
        let mut child = command.spawn()?;
        let (Some(orders), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both ends were asked for as pipes");
        };
        let mut keeper = Self {
            child,
            orders: Some(orders),
            answers: BufReader::new(answers),
            dir: PathBuf::new(),
        };
        keeper.dir = keeper.answer()?.into();
        Ok(keeper)
    }

    /// Returns the directory: `data` belongs to the server, `server.log` is its log.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Sends one command and waits until it is executed.
    pub(crate) fn order(&mut self, order: &str) -> io::Result<()> {
        let orders = self.orders.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        orders.write_all(format!("{order}\n").as_bytes())?;
        if self.answer()? == "0" {
            return Ok(());
        }
        let log = |name| fs::read_to_string(self.dir.join(name)).unwrap_or_default();
        Err(io::Error::other(format!(
            "`{order}` failed for the server in {}\n{}{}",
            self.dir.display(),
            log("keeper.log"),
            log("server.log"),
        )))
    }

    fn answer(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(io::Error::other(
                "the keeper of the server has ended: can the account that runs it \
                 write the directory that TMPDIR names, or /tmp?",
            ));
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.orders = None;
        if let Err(error) = self.child.wait() {
            eprintln!("the keeper of {} is lost: {error}", self.dir.display());
        }
    }
}
