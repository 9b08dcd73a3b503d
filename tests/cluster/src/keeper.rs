//! The shell that carries out orders for a server and outlives the process to clean up after it.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::account::{Account, is_root};

/// A running script, `keeper.sh` say, and the directory that it has made, and removes in the end.
#[derive(Debug)]
pub(crate) struct Keeper {
    child: Child,
    /// `None` once the keeper has been told to finish.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    dir: PathBuf,
}

impl Keeper {
    /// Runs `script`, with the paths of the server's programs as its arguments.
    pub(crate) fn run(script: &str, programs: &[&Path]) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command
            .args(["-c", script, "keeper"])
            .args(programs)
            // The account that is stepped down to may not be allowed to look at the present one.
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A descriptor of the test's own output would keep a test runner waiting for its end.
            .stderr(Stdio::null())
            // What is signalled to the group of the test, Ctrl-C say, is not for the keeper.
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

    /// The directory: `data` is the server's own, `server.log` its log.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Gives one order and waits until it is carried out.
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
