//! What a caller saw, written down before it goes on.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::calls::{Asked, Done};
use super::notices::{Notice, Outside};

/// How a line ends that its writer did not live to finish.
const TORN: &str = "~";

/// A line of a log.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A call begins, or begins again in the process that follows a killed one.
    Called {
        /// Which of the caller's calls.
        place: u64,
        /// The key.
        key: String,
        /// The request.
        asked: Asked,
    },
    /// The call is answered.
    Answered {
        /// The answer.
        answer: Answer,
        /// The tries before it, by what became of them.
        tries: BTreeMap<String, u64>,
    },
}

/// What a caller is told in the end.
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
    /// A failure for good.
    Declined {
        /// The amount that was asked for.
        amount: i64,
    },
    /// The key is another request's.
    Mismatch,
    /// What no caller may be told.
    Forbidden(String),
}

/// A call with its answer, if it has one.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Which of its caller's calls.
    pub place: u64,
    /// The key.
    pub key: String,
    /// The request.
    pub asked: Asked,
    /// The answer.
    pub answer: Option<Answer>,
}

/// A caller's own log: a line before a call and a line after it, each on the disk before the next.
#[derive(Debug)]
pub struct Log(File);

impl Log {
    /// Opens the log at `path`, new or left by a caller that was killed, and says how many calls it
    /// has answers to.
    ///
    /// # Errors
    /// Those of the file system, and of a log that is none.
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
    /// Those of the file system.
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
    /// The tries that had to be repeated, by what became of them.
    pub tries: BTreeMap<String, u64>,
    /// What was sent outside the database.
    pub notices: Vec<Notice>,
}

impl History {
    /// Adds every log in the directory.
    ///
    /// # Errors
    /// Those of the file system, and of a log that is none.
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
                Event::Called { place, key, asked } => {
                    // Begun again: the call before is the same one.
                    open = Some(Entry {
                        place,
                        key,
                        asked,
                        answer: None,
                    });
                }
                Event::Answered { answer, tries } => {
                    let Some(call) = open.take() else {
                        let words = format!("an answer to no call: {line}");
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

    fn called(place: u64) -> Event {
        Event::Called {
            place,
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
        let places: Vec<_> = history.calls.iter().map(|call| call.place).collect();
        assert_eq!(places, [0, 1, 2], "{}", fs::read_to_string(&path).unwrap());
        assert!(history.calls[1].answer.is_some() && history.calls[2].answer.is_none());
        assert_eq!(history.tries["InFlight"], 4);
    }
}
