//! Leased handlers. Their effect is a line in a file, which no transaction rolls back.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use idem_runtime::{Attempt, IdempotencyKey, idempotent};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::calls::Refused;

/// The file of the effects, in the directory of the logs.
const FILE: &str = "notices.jsonl";

/// The length of a lease that can be lost for want of a connection only: a busy machine sends some of its
/// heartbeats in time.
pub const LEASE: Duration = Duration::from_secs(12);

/// What happens to a key whose lease has lapsed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lapse {
    /// Its outcome is unknown.
    Unknown,
    /// It may be taken over.
    Retry,
}

/// A line of the file.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// The effect has happened.
    Sent {
        /// The key.
        key: String,
        /// What happens to this key if its lease lapses.
        lapse: Lapse,
        /// The key that the receiver was given.
        external: String,
    },
    /// A lease was lost while its owner lived, and nothing befell owner, link or server.
    Lapsed {
        /// The key.
        key: String,
    },
    /// The library refused permanently although it must not.
    Forbidden {
        /// The key.
        key: String,
        /// The refusal.
        words: String,
    },
}

/// The receiver of the notices.
#[derive(Clone, Debug)]
pub struct Outside(PathBuf);

impl Outside {
    /// Returns the file in this directory of logs.
    pub fn beside(logs: &Path) -> Self {
        Self(logs.join(FILE))
    }

    /// Writes a line. It is on disk when this returns.
    pub(super) fn write(&self, notice: &Notice) -> io::Result<()> {
        let line = serde_json::to_string(notice)?;
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0)?;
        // One write, so that a killed process leaves a whole line or none.
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_data()
    }

    /// Reads all lines; none if there is no file.
    ///
    /// # Errors
    ///
    /// Returns errors of the file system, and an error if a line cannot be parsed.
    pub fn read(&self) -> io::Result<Vec<Notice>> {
        let text = match fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let lines = text.lines().map(serde_json::from_str);
        Ok(lines.collect::<Result<_, _>>()?)
    }

    /// Makes the effect, after the time that the work takes.
    async fn send(
        &self,
        attempt: &Attempt,
        key: &IdempotencyKey,
        lapse: Lapse,
        work: Duration,
    ) -> Result<(), Refused> {
        sleep(work).await;
        if attempt.is_lost() {
            // A body must not begin its effect once its lease is lost.
            return Err(Refused::BankDown);
        }
        let sent = Notice::Sent {
            key: key.as_str().to_owned(),
            lapse,
            external: attempt.external_key(),
        };
        self.write(&sent)
            .map_err(|error| Refused::Database(error.into()))
    }
}

/// Sends a notice; a lapse leaves the outcome unknown.
///
/// # Errors
///
/// Returns the library's and the file system's errors.
#[idempotent(
    namespace = "torture",
    operation = "notice",
    lease = "1s",
    skip(outside, work)
)]
pub async fn notify_once(
    attempt: &Attempt,
    key: &IdempotencyKey,
    outside: Outside,
    work: Duration,
) -> Result<(), Refused> {
    outside.send(attempt, key, Lapse::Unknown, work).await
}

/// Sends a notice; a lapsed lease may be taken over.
///
/// # Errors
///
/// Returns the library's and the file system's errors.
#[idempotent(
    namespace = "torture",
    operation = "notice",
    lease = "1s",
    on_lapse = "retry",
    skip(outside, work)
)]
pub async fn notify_again(
    attempt: &Attempt,
    key: &IdempotencyKey,
    outside: Outside,
    work: Duration,
) -> Result<(), Refused> {
    outside.send(attempt, key, Lapse::Retry, work).await
}
