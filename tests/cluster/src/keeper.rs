//! The shell that carries out orders for a cluster and outlives the process to clean up after it.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::Binaries;
use crate::account::Account;

/// A running `keeper.sh` and the directory that it removes in the end.
#[derive(Debug)]
pub(crate) struct Keeper {
    child: Child,
    /// `None` once the keeper has been told to finish.
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    dir: PathBuf,
}

impl Keeper {
    pub(crate) fn start() -> io::Result<Self> {
        let binaries = Binaries::find()?;
        let dir = tempfile::Builder::new().prefix("idem-pg-").tempdir()?;
        let mut command = Command::new("sh");
        command
            .args(["-c", include_str!("keeper.sh"), "keeper"])
            .args([binaries.dir(), dir.path()])
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A descriptor of the test's own output would keep a test runner waiting for its end.
            .stderr(Stdio::null())
            // What is signalled to the group of the test, Ctrl-C say, is not for the keeper.
            .process_group(0);
        if fs::metadata(dir.path())?.uid() == 0 {
            let Account { uid, gid } = Account::unprivileged()?;
            chown(dir.path(), Some(uid), Some(gid))?;
            command.uid(uid).gid(gid);
        }
        let mut child = command.spawn()?;
        let (Some(orders), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both ends were asked for as pipes");
        };
        Ok(Self {
            child,
            orders: Some(orders),
            answers: BufReader::new(answers),
            dir: dir.keep(),
        })
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
        let mut status = String::new();
        self.answers.read_line(&mut status)?;
        if status.trim_end() == "0" {
            return Ok(());
        }
        let log = |name| fs::read_to_string(self.dir.join(name)).unwrap_or_default();
        Err(io::Error::other(format!(
            "`{order}` failed for the PostgreSQL server in {}\n{}{}",
            self.dir.display(),
            log("keeper.log"),
            log("server.log"),
        )))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.orders = None;
        if let Err(error) = self.child.wait() {
            eprintln!("the keeper of {} is lost: {error}", self.dir.display());
        }
        // The keeper's account may empty the directory and yet not be allowed to unlink it, when
        // TMPDIR names a directory that is not open to all.
        match fs::remove_dir_all(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                eprintln!("{} is left behind: {error}", self.dir.display());
            }
            _ => {}
        }
    }
}
