//! Places where a body stops until its test lets it continue.
//!
//! A handler calls [`pass`]. A test that wants it to stop there first creates a [`Gate`]; without
//! one, nothing stops. Gates are named by key, and keys are fresh for each test.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::sync::Semaphore;

use crate::patience::in_time;

type Gates = HashMap<(String, GatePoint), Arc<Posts>>;

static GATES: LazyLock<Mutex<Gates>> = LazyLock::new(Mutex::default);

/// A place in the body of a payment.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum GatePoint {
    /// Before its first statement.
    BeforeWrite,
    /// After the payment is written.
    AfterWrite,
    /// At the very end of a body that does more than pay.
    Last,
}

#[derive(Debug)]
struct Posts {
    entered: Semaphore,
    leave: Semaphore,
}

/// A gate at one place in the bodies of one key. Dropping it opens and removes it.
#[derive(Debug)]
pub struct Gate {
    at: (String, GatePoint),
    posts: Arc<Posts>,
}

impl Gate {
    /// Creates a closed gate.
    pub fn at(key: &str, point: GatePoint) -> Self {
        let posts = Arc::new(Posts {
            entered: Semaphore::new(0),
            leave: Semaphore::new(0),
        });
        let at = (key.to_owned(), point);
        with(|gates| gates.insert(at.clone(), Arc::clone(&posts)));
        Self { at, posts }
    }

    /// Waits until another body has reached the gate.
    ///
    /// # Panics
    ///
    /// No body comes within a minute.
    pub async fn entered(&self) {
        let entered = self.posts.entered.acquire();
        let permit = in_time("no body came to the gate", entered).await;
        permit.expect("it is never closed").forget();
    }

    /// Lets one body continue.
    pub fn open(&self) {
        self.posts.leave.add_permits(1);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        with(|gates| gates.remove(&self.at));
        self.posts.leave.add_permits(Semaphore::MAX_PERMITS / 2);
    }
}

/// Waits at the gate of this key and place, if there is one.
///
/// # Panics
///
/// Never: the semaphore is not closed.
pub async fn pass(key: &str, point: GatePoint) {
    let posts = with(|gates| gates.get(&(key.to_owned(), point)).cloned());
    if let Some(posts) = posts {
        posts.entered.add_permits(1);
        let permit = posts.leave.acquire().await;
        permit.expect("it is never closed").forget();
    }
}

fn with<R>(act: impl FnOnce(&mut Gates) -> R) -> R {
    act(&mut GATES.lock().unwrap_or_else(PoisonError::into_inner))
}
