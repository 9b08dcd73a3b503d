//! The lines of waiters of this process: one for each key and pool that calls wait for.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::Pool;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::key_state::{KeyState, Version, version};
use crate::decision::Lookup;
use crate::stores::Backend;
use crate::values::identity::LockKey;

/// How long the next waiter waits for one whose turn it is: 5 seconds. The other may not be polled, or its
/// connection may not answer.
pub(super) const TURN: Duration = Duration::from_secs(5);

static LINES: LazyLock<Mutex<Lines>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Lines {
    by_key: HashMap<LineKey, Line>,
    /// The number of the last line, waiter or turn.
    last_number: u64,
    /// How many looks were made in this process.
    #[cfg(feature = "test-switches")]
    looks: u64,
}

/// The key that is waited for, and the pool through which it is looked up: the address of the pool's
/// options, which the pool keeps as long as it lives. The lock key covers table, namespace, scope and key.
pub(super) type LineKey = (usize, LockKey);

/// One line, by a number that no other line of the same key has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineId {
    key: LineKey,
    number: u64,
}

struct Line {
    number: u64,
    /// First come, first served.
    waiters: BTreeMap<u64, Waiter>,
    /// The waiter whose turn it is to claim, and since when.
    turn: Option<(u64, Instant)>,
    /// What the last look that was answered has found.
    found: Option<Arc<Lookup>>,
    /// `None` until the first waiter has started it.
    poller: Option<AbortHandle>,
}

struct Waiter {
    news: oneshot::Sender<News>,
    /// Whether the call may take a lapsed lease over, or settle it.
    takes_over: bool,
    /// The version of the record on which the call has decided to wait.
    decided_on: Option<Version>,
}

/// What a waiter is woken by.
#[derive(Debug)]
pub(super) enum News {
    /// There is a record to decide on.
    Found(Arc<Lookup>),
    /// The waiter is to claim the key. Without a turn, all the others are told so as well.
    Claim(Option<Turn>),
}

/// The right to claim before the other waiters of the key, given back on drop.
#[derive(Debug)]
pub(crate) struct Turn {
    line: LineId,
    number: u64,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(line) = lock().line(self.line)
            && line.turn.is_some_and(|(number, _)| number == self.number)
        {
            line.turn = None;
        }
    }
}

/// A call's place in a line, given up on drop. The last one ends the line and its poller.
pub(super) struct Ticket {
    line: LineId,
    number: u64,
    news: oneshot::Receiver<News>,
}

impl Ticket {
    /// Waits for news. Returns `None` if the poller has ended, as with its runtime.
    pub(super) async fn news(mut self) -> Option<News> {
        (&mut self.news).await.ok()
    }

    pub(super) fn line(&self) -> LineId {
        self.line
    }

    /// Lets the last of the waiters end the poller.
    pub(super) fn is_polled_by(&self, poller: AbortHandle) {
        if let Some(line) = lock().line(self.line) {
            line.poller = Some(poller);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut lines = lock();
        let Some(line) = lines.line(self.line) else {
            return;
        };
        line.waiters.remove(&self.number);
        if line.waiters.is_empty() {
            let ended = lines.by_key.remove(&self.line.key);
            drop(lines);
            if let Some(poller) = ended.and_then(|ended| ended.poller) {
                poller.abort();
            }
        }
    }
}

/// Ends a line on drop: those who still wait find another poller.
pub(super) struct LineGuard(pub(super) LineId);

impl Drop for LineGuard {
    fn drop(&mut self) {
        let mut lines = lock();
        if lines.line(self.0).is_some() {
            let ended = lines.by_key.remove(&self.0.key);
            drop(lines);
            drop(ended);
        }
    }
}

impl Lines {
    fn line(&mut self, id: LineId) -> Option<&mut Line> {
        let line = self.by_key.get_mut(&id.key);
        line.filter(|line| line.number == id.number)
    }

    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

fn lock() -> MutexGuard<'static, Lines> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the name of the line of this key, as it is looked up through this pool.
pub(super) fn key<DB: Backend>(pool: &Pool<DB>, lock_key: LockKey) -> LineKey {
    (std::ptr::from_ref(pool.options()).addr(), lock_key)
}

/// Returns whether calls wait for this key.
pub(super) fn is_waited_for(key: LineKey) -> bool {
    lock().by_key.contains_key(&key)
}

/// Returns the number of keys that calls wait for.
pub(super) fn count() -> usize {
    lock().by_key.len()
}

/// Returns the number of calls that wait, and of the looks that were made for them.
#[cfg(feature = "test-switches")]
pub fn observed() -> (usize, u64) {
    let lines = lock();
    let waiters = lines.by_key.values().map(|line| line.waiters.len()).sum();
    (waiters, lines.looks)
}

/// The outcome of joining a line.
pub(super) enum Joined {
    /// The call is the first: it is to start the poller, which must not happen under the lock.
    First(Ticket),
    Waits(Ticket),
    /// There is a record that the call has not decided on yet.
    Found(Arc<Lookup>),
}

/// Joins the line of this key.
pub(super) fn join(key: LineKey, takes_over: bool, decided_on: Option<Version>) -> Joined {
    let mut lines = lock();
    let found = lines.by_key.get(&key).and_then(|line| line.found.as_ref());
    if let Some(found) = found.filter(|found| version(found) != decided_on) {
        return Joined::Found(Arc::clone(found));
    }
    let (number, new_line) = (lines.number(), lines.number());
    let line = lines.by_key.entry(key).or_insert_with(|| Line {
        number: new_line,
        waiters: BTreeMap::new(),
        turn: None,
        found: None,
        poller: None,
    });
    let (sender, news) = oneshot::channel();
    let waiter = Waiter {
        news: sender,
        takes_over,
        decided_on,
    };
    line.waiters.insert(number, waiter);
    let is_first = line.number == new_line;
    let line = LineId {
        key,
        number: line.number,
    };
    let ticket = Ticket { line, number, news };
    if is_first {
        Joined::First(ticket)
    } else {
        Joined::Waits(ticket)
    }
}

/// Tells the waiters of a line what a look has shown: all of them a record that they have not decided on, and
/// one of them that the key may be claimed. Returns whether the line is still there.
pub(super) fn announce(id: LineId, state: &KeyState) -> bool {
    let mut lines = lock();
    #[cfg(feature = "test-switches")]
    {
        lines.looks += 1;
    }
    let turn_number = lines.number();
    let Some(line) = lines.line(id) else {
        return false;
    };
    // News that nobody has taken hold a turn, which needs the lock to be given back.
    let untaken = line.announce(id, state, turn_number);
    drop(lines);
    drop(untaken);
    true
}

impl Line {
    fn announce(&mut self, id: LineId, state: &KeyState, turn_number: u64) -> Vec<News> {
        let mut untaken = Vec::new();
        match state {
            KeyState::InFlight(_) => self.show(state, &mut untaken),
            KeyState::Free(_) | KeyState::Lapsed(_) => {
                self.show(state, &mut untaken);
                let lapsed = matches!(state, KeyState::Lapsed(_));
                self.give_turn(id, turn_number, lapsed, &mut untaken);
            }
            KeyState::Refused => self.give_turn(id, turn_number, false, &mut untaken),
            KeyState::Silent => {}
            KeyState::Closed => {
                for (_, waiter) in std::mem::take(&mut self.waiters) {
                    untaken.extend(waiter.news.send(News::Claim(None)).err());
                }
            }
        }
        untaken
    }

    /// Shows a record to those who have not decided on this version of it.
    fn show(&mut self, state: &KeyState, untaken: &mut Vec<News>) {
        self.found = state.found().cloned();
        let Some(found) = &self.found else {
            return;
        };
        let version = version(found);
        let new_to = |_: &u64, waiter: &mut Waiter| waiter.decided_on != version;
        for (_, waiter) in self.waiters.extract_if(.., new_to) {
            let news = News::Found(Arc::clone(found));
            untaken.extend(waiter.news.send(news).err());
        }
    }

    /// Lets the first waiter claim, unless it is another's turn.
    fn give_turn(&mut self, id: LineId, number: u64, lapsed: bool, untaken: &mut Vec<News>) {
        let now = Instant::now();
        if self.turn.is_some_and(|(_, since)| now < since + TURN) {
            return;
        }
        let may_claim = |_: &u64, waiter: &mut Waiter| waiter.takes_over || !lapsed;
        for (_, waiter) in self.waiters.extract_if(.., may_claim) {
            self.turn = Some((number, now));
            let turn = Turn { line: id, number };
            match waiter.news.send(News::Claim(Some(turn))) {
                Ok(()) => return,
                Err(news) => untaken.push(news),
            }
        }
        self.turn = None;
    }
}

#[cfg(test)]
mod tests;
