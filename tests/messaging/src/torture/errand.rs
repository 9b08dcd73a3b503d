//! The task of a process.

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::thread;

use idem_tests::torture::Fault;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::nemesis::Role;
use super::planted::Planted;

/// The task of a process.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Errand {
    /// What it does.
    pub role: Role,
    /// Its number among those of its role.
    pub number: u64,
    /// The number of processes of its role.
    pub of: u64,
    /// The database.
    pub url: String,
    /// The broker.
    pub broker: String,
    /// The directory of the callers' logs.
    pub logs: PathBuf,
    /// The run's seed.
    pub seed: u64,
    /// The number of calls of each caller.
    pub calls: u64,
    /// The number of effects by which the consumers may lag behind without holding the callers up.
    pub lag: i64,
    /// The fault that is planted in the relays.
    pub planted: Planted,
}

impl Errand {
    /// Returns the task as a process argument.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory of the logs is no text.
    pub fn argument(&self) -> Result<String, Fault> {
        Ok(serde_json::to_string(self)?)
    }

    /// Reads the task from a process argument.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not that of [`argument`](Self::argument).
    pub fn parse(argument: &str) -> Result<Self, Fault> {
        Ok(serde_json::from_str(argument)?)
    }
}

/// Becomes true once the standard input of this process is closed.
pub fn told_to_end() -> watch::Receiver<bool> {
    let (end, ended) = watch::channel(false);
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        end.send_replace(true);
    });
    ended
}

/// Waits until the process is to end.
pub async fn until_told(mut ended: watch::Receiver<bool>) {
    // If the sender is gone, it has sent its last value.
    let _ = ended.wait_for(|ended| *ended).await;
}
