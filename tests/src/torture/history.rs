//! What a client saw, written down before it goes on.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// A client's own log: a line before a call and a line after it, each on the disk before the next.
#[derive(Debug)]
pub struct Log(File);

impl Log {
    /// Appends to the log at `path`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self(file))
    }

    /// Writes one line.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&mut self, line: &str) -> io::Result<()> {
        self.0.write_all(format!("{line}\n").as_bytes())?;
        self.0.sync_data()
    }
}

/// Everything that the clients saw.
#[derive(Debug, Default)]
pub struct History {
    /// Calls begun.
    pub calls: usize,
    /// For each key the results that callers were given.
    pub successes: BTreeMap<String, Vec<i64>>,
    /// For each key how many callers were told that it failed for good.
    pub declined: BTreeMap<String, usize>,
    /// Changed requests that were refused.
    pub mismatches: usize,
    /// Answers that no caller may get: the key and the words.
    pub forbidden: Vec<String>,
}

impl History {
    /// Adds the log at `path`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn read(&mut self, path: &Path) -> io::Result<()> {
        for line in std::fs::read_to_string(path)?.lines() {
            let mut words = line.splitn(3, ' ');
            let (kind, key) = (words.next(), words.next().unwrap_or_default().to_owned());
            let rest = words.next().unwrap_or_default();
            match kind {
                Some("call") => self.calls += 1,
                Some("ok") => match rest.parse() {
                    Ok(id) => self.successes.entry(key).or_default().push(id),
                    Err(_) => self.forbidden.push(line.to_owned()),
                },
                Some("declined") => *self.declined.entry(key).or_default() += 1,
                Some("mismatch") => self.mismatches += 1,
                // The client was killed while it wrote.
                Some("" | "c" | "ca" | "cal" | "o") | None => {}
                _ => self.forbidden.push(line.to_owned()),
            }
        }
        Ok(())
    }
}
