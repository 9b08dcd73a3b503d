//! What a caller saw, written to its log before it continues.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::calls::{Asked, Done};
use super::notices::{Notice, Outside};

/// The end of a line whose writer was killed while writing it.
const TORN: &str = "~";

/// A line of a log.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A call begins, or begins again in the process after a killed one.
    Called {
        /// The call's index among the caller's calls.
        index: u64,
        /// The key.
        key: String,
        /// The request.
        asked: Asked,
    },
    /// The call is answered.
    Answered {
        /// The answer.
        answer: Answer,
        /// The earlier tries, counted by outcome.
        tries: BTreeMap<String, u64>,
    },
}

/// The final answer to a caller.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A result.
    Done {
        /// The value.
        done: Done,
        /// Whether it was recorded before.
        replayed: bool,
    },
    /// A permanent failure.
    Declined {
        /// The requested amount.
        amount: i64,
    },
    /// The key belongs to another request.
    Mismatch,
    /// An answer that no caller may get.
    Forbidden(String),
}

/// A call with its answer, if it has one.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The call's index among its caller's calls.
    pub index: u64,
    /// The key.
    pub key: String,
    /// The request.
    pub asked: Asked,
    /// The answer.
    pub answer: Option<Answer>,
}

/// A caller's own log: one line before a call and one after it, each on disk before the next.
#[derive(Debug)]
pub struct Log(File);

impl Log {
    /// Opens the log at `path`, which is new or was left by a killed caller. Returns it with the
    /// number of answered calls.
    ///
    /// # Errors
    ///
    /// Returns errors of the file system, and an error if the file is not a log.
    pub fn resume(path: &Path) -> io::Result<(Self, u64)> {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        if !matches!(fs::read(path)?.last(), None | Some(b'\n')) {
            file.write_all(format!("{TORN}\n").as_bytes())?;
        }
        let mut before = History::default();
        before.read(path)?;
        let answered = before.calls.iter().filter(|call| call.answer.is_some());
        let answered = answered.count() as u64;
        Ok((Self(file), answered))
    }

    /// Writes one line.
    ///
    /// # Errors
    ///
    /// Returns errors of the file system.
    pub fn write(&mut self, event: &Event) -> io::Result<()> {
        let line = serde_json::to_string(event)?;
        self.0.write_all(format!("{line}\n").as_bytes())?;
        self.0.sync_data()
    }
}

/// Everything that the callers saw.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The calls, caller by caller.
    pub calls: Vec<Entry>,
    /// The tries that had to be repeated, counted by outcome.
    pub tries: BTreeMap<String, u64>,
    /// The effects outside the database.
    pub notices: Vec<Notice>,
}

impl History {
    /// Adds every log in the directory.
    ///
    /// # Errors
    ///
    /// Returns errors of the file system, and an error if a file is not a log.
    pub fn read_all(dir: &Path) -> io::Result<Self> {
        let mut history = Self {
            notices: Outside::beside(dir).read()?,
            ..Self::default()
        };
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "log") {
                history.read(&path)?;
            }
        }
        Ok(history)
    }

    fn read(&mut self, path: &Path) -> io::Result<()> {
        let mut open: Option<Entry> = None;
        let text = fs::read_to_string(path)?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines().filter(|line| !line.ends_with(TORN)) {
            match serde_json::from_str(line)? {
                Event::Called { index, key, asked } => {
                    // Begun again: the earlier entry is the same call.
                    open = Some(Entry {
                        index,
                        key,
                        asked,
                        answer: None,
                    });
                }
                Event::Answered { answer, tries } => {
                    let Some(call) = open.take() else {
                        let words = format!("the log has an answer without a call: {line}");
                        return Err(io::Error::other(words));
                    };
                    self.calls.push(Entry {
                        answer: Some(answer),
                        ..call
                    });
                    for (kind, count) in tries {
                        *self.tries.entry(kind).or_default() += count;
                    }
                }
            }
        }
        self.calls.extend(open);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::io::Write as _;

    use super::{Answer, Event, History, Log};
    use crate::torture::calls::{Asked, What};

    fn called(index: u64) -> Event {
        Event::Called {
            index,
            key: "key-1".to_owned(),
            asked: Asked {
                what: What::Transfer,
                from: 0,
                to: 1,
                amount: 5,
            },
        }
    }

    fn answered() -> Event {
        Event::Answered {
            answer: Answer::Mismatch,
            tries: BTreeMap::from([("InFlight".to_owned(), 2)]),
        }
    }

    #[test]
    fn a_log_that_was_torn_goes_on_where_its_answers_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("caller.log");
        let (mut log, begun) = Log::resume(&path).unwrap();
        assert_eq!(begun, 0);
        for event in [called(0), answered(), called(1)] {
            log.write(&event).unwrap();
        }
        log.0.write_all(br#"{"answ"#).unwrap();
        drop(log);
        let (mut log, begun) = Log::resume(&path).unwrap();
        assert_eq!(begun, 1);
        for event in [called(1), answered(), called(2)] {
            log.write(&event).unwrap();
        }
        let history = History::read_all(dir.path()).unwrap();
        let places: Vec<_> = history.calls.iter().map(|call| call.index).collect();
        assert_eq!(places, [0, 1, 2], "{}", fs::read_to_string(&path).unwrap());
        assert!(history.calls[1].answer.is_some() && history.calls[2].answer.is_none());
        assert_eq!(history.tries["InFlight"], 4);
    }
}
