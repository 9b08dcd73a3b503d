//! Requests of callers that may die: stored in the caller's transaction, sent by a worker, answered once.
//!
//! A request is sent if and only if the transaction that enqueued it was committed. Its key is stored with it before the
//! first attempt, so that each attempt has the same one, whatever process makes it, and a service that reads the key has one
//! effect. The answer is recorded beside the request; the first that is recorded stays.
//!
//! ```
//! # #[cfg(feature = "sqlite")]
//! # async fn example(pool: sqlx::SqlitePool, shutdown: tokio::sync::oneshot::Receiver<()>)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! use http::Request;
//! use idem_client::RetryPolicy;
//! use idem_client::ledger::{Ledger, LedgerState};
//!
//! let ledger = Ledger::new(); // one for the process; clones share its wake-up
//! let client = idem_client::client(reqwest::Client::builder(), RetryPolicy::new())?;
//! tokio::spawn(ledger.worker(pool.clone(), client).run(shutdown));
//!
//! let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
//! // … the caller's own writes, and with them:
//! let order = Request::post("https://api.example.com/orders").body(r#"{"item":"tea"}"#)?;
//! let id = ledger.enqueue(&mut tx, order).await?;
//! tx.commit().await?;
//!
//! match ledger.settled(&pool, &id).await?.state { // or later, in another process, by the same id
//!     LedgerState::Answered(answer) => println!("{}", answer.status),
//!     LedgerState::Refused(answer) => println!("refused: {}", answer.status),
//!     LedgerState::Dead { error } => println!("given up: {error:?}"),
//!     _ => {}
//! }
//! # Ok(()) }
//! ```
//!
//! # What becomes of a request
//!
//! | answer | the request is |
//! |---|---|
//! | 2xx | answered |
//! | 400, 404, 409 (the service's own), 422 and other 4xx; a recorded failure that was replayed | refused, and set aside with the answer |
//! | none, half a one, 408, 409 `in-flight`, 421, 425, 429, 5xx | sent again after `Retry-After` and a backoff |
//! | 401, 403, 407, 409 `outcome-unknown` | sent again: somebody may mend it |
//! | a redirect to another origin, an answer that is too long | dead at once |
//!
//! After 16 attempts ([`Relay::max_attempts`](idem_messaging::outbox::Relay::max_attempts)) a request is dead;
//! [`Ledger::requeue`] gives it its attempts back, under the same key. The service must remember the key for that long.
//!
//! # How it works
//!
//! It is a thin layer over the outbox of idem-messaging: an event of the queue is the permission to send a request, with its
//! lease, its token, its backoff and its death. The worker is a [`Relay`](idem_messaging::outbox::Relay) on the queue
//! `idem_ledger_outbox`, whose topics are the hosts, so that one host can be paused. The request and its answer are a row
//! of `idem_ledger`. If the process dies between sending and recording, the event is claimed again after its lease, and the
//! request is sent once more with its key; if it dies after recording, the next claim finds the answer and sends nothing.
//!
//! Both tables are your migrations ([`schema`]). They hold requests and answers in clear: purge what you have read.

mod answer;
mod enqueue;
mod entry;
mod error;
mod request;
pub mod schema;
mod sender;
mod store;

pub use idem_messaging::outbox::EventId;

pub use self::enqueue::Ledger;
pub use self::entry::{LedgerAnswer, LedgerEntry, LedgerState};
pub use self::error::{LedgerError, RequestField};
pub use self::request::{BODY_MAX, HEADERS_MAX, METHOD_MAX, URL_MAX};
pub use self::sender::LedgerSender;
pub use self::store::LedgerDatabase;
