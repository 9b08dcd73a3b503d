//! What a worker leaves for a client, and what changes between its look and its claim.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use idem_runtime::policy::OnLapse;
use idem_runtime::record::Status;
use idem_runtime::takeover::{LeftLeases, Takeover, TakeoverSweep};
use idem_runtime::{Attempt, LeasedOperation, Operation, TakeoverWorker};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use tokio::runtime::Handle;

use crate::abandoned::{Edited, abandon};
use crate::database::LeaseDatabase;
use crate::desk::{Desk, MailError, ada, fresh_key, send_again};
use crate::takeover::{to_ada, worker};

pub(crate) async fn a_request_that_is_not_the_fingerprints_is_left_for_the_client<H: Edited>() {
    let (database, key, desk) = (H::open().await, fresh_key(), Desk::new(&[]));
    abandon(&database, &key, "send", &to_ada(), OnLapse::Retry).await;
    database
        .set_request(br#"{"to":"mallory@example.org"}"#)
        .await;
    database.lapse().await;
    let worker = worker(&database, &desk, 1);
    for _ in 0..2 {
        let swept = worker.run_once().await.expect("it answers");
        assert_eq!((swept.found, swept.begun, swept.unknown), (1, 0, 0));
        assert_eq!((swept.left.mismatch, swept.left.total()), (1, 1));
    }
    assert_eq!(desk.count(), 0);
    let sent = send_again(&database.pool(), &key, ada(), desk.clone()).await;
    assert_eq!(sent.expect("the client brings its request").number, 2);
    let swept = worker.run_once().await.expect("it answers");
    assert_eq!(swept, TakeoverSweep::default());
}

pub(crate) async fn a_request_that_does_not_decode_is_left_for_the_client<H: LeaseDatabase>() {
    let (database, key, desk) = (H::open().await, fresh_key(), Desk::new(&[]));
    // Of a build whose parameter had another name.
    let request = json!({ "recipient": ada() });
    abandon(&database, &key, "send", &request, OnLapse::Retry).await;
    database.lapse().await;
    let swept = worker(&database, &desk, 9).run_once().await;
    assert_eq!(left(swept.expect("it answers")).undecodable, 1);
    assert_eq!(database.status(&key).await, Some(Status::InProgress));
    assert_eq!(desk.count(), 0);
}

/// A request of a type whose own code does not expect what it gets.
struct Unexpected;

impl<'de> Deserialize<'de> for Unexpected {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let to = serde_json::Value::deserialize(deserializer)?["to"].take();
        panic!("not a room number: {to}");
    }
}

pub(crate) async fn a_request_whose_decoding_panics_is_left_and_ends_no_worker<H: LeaseDatabase>() {
    const POST: LeasedOperation =
        Operation::new("mail", "post").lease(Duration::from_mins(5), OnLapse::Retry);
    let (database, desk) = (H::open().await, Desk::new(&[]));
    let (odd, sound) = (fresh_key(), fresh_key());
    abandon(&database, &odd, "post", &to_ada(), OnLapse::Retry).await;
    abandon(&database, &sound, "send", &to_ada(), OnLapse::Retry).await;
    database.lapse().await;
    let post = Takeover::of(POST).pauses(Duration::ZERO, Duration::ZERO);
    let worker = worker(&database, &desk, 9).handle(post, |_: Attempt, _: Unexpected| async {
        Ok::<_, MailError>(1)
    });
    let worker = worker.expect("it is under retry");
    for completed in [1, 0] {
        let swept = worker.run_once().await.expect("it answers");
        assert_eq!((swept.left.undecodable, swept.completed), (1, completed));
    }
    assert_eq!(database.status(&odd).await, Some(Status::InProgress));
    assert_eq!(database.status(&sound).await, Some(Status::Completed));
}

pub(crate) async fn a_request_too_large_to_be_kept_is_left_for_the_client<H: LeaseDatabase>() {
    let (database, key, desk) = (H::open().await, fresh_key(), Desk::new(&[]));
    let request = json!({ "to": "a".repeat(70_000) });
    abandon(&database, &key, "send", &request, OnLapse::Retry).await;
    database.lapse().await;
    let swept = worker(&database, &desk, 9).run_once().await;
    assert_eq!(left(swept.expect("it answers")).too_large, 1);
    assert_eq!(desk.count(), 0);
}

fn left(swept: TakeoverSweep) -> LeftLeases {
    assert_eq!((swept.begun, swept.unknown, swept.left.total()), (0, 0, 1));
    swept.left
}

/// What happens while a request is decoded: after the worker has looked, and before it claims.
static MEANWHILE: LazyLock<Mutex<Vec<(String, Meanwhile)>>> = LazyLock::new(Mutex::default);

type Meanwhile = Box<dyn FnOnce() + Send>;

/// A request during whose decoding something happens.
struct Interrupted;

impl<'de> Deserialize<'de> for Interrupted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let to = serde_json::Value::deserialize(deserializer)?["to"].to_string();
        let mut all = MEANWHILE.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().position(|(of, _)| *of == to);
        let meanwhile = found.map(|at| all.swap_remove(at).1);
        drop(all);
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        Ok(Self)
    }
}

/// What another does between the worker's look and its claim.
#[derive(Clone, Copy)]
enum Other {
    /// An operator deletes the record: the key is free.
    Forgets,
    /// A client takes the lease over, and fails: the key is released.
    Releases,
    /// A client takes the lease over, and dies: its own lease has lapsed.
    Lapses,
}

pub(crate) async fn a_worker_claims_nothing_but_the_very_lease_that_it_found<H>()
where
    H: Edited + Send + Sync + 'static,
{
    const POST: LeasedOperation =
        Operation::new("mail", "post").lease(Duration::from_mins(5), OnLapse::Retry);
    for other in [Other::Forgets, Other::Releases, Other::Lapses] {
        let database = Arc::new(H::open().await);
        let (key, desk) = (fresh_key(), Desk::new(&[]));
        let to = key.as_str().to_owned();
        let request = json!({ "to": to });
        abandon(&*database, &key, "post", &request, OnLapse::Retry).await;
        database.lapse().await;
        let (there, runtime) = (Arc::clone(&database), Handle::current());
        let by = key.clone();
        let meanwhile: Meanwhile = Box::new(move || {
            tokio::task::block_in_place(|| {
                runtime.block_on(async {
                    match other {
                        Other::Forgets => there.delete_records().await,
                        Other::Releases => {
                            let body = |_| async { Err::<i32, _>(MailError::OutOfReach) };
                            let failed = POST.run(&there.pool(), &by, &request, body).await;
                            failed.expect_err("it fails");
                        }
                        Other::Lapses => {
                            abandon(&*there, &by, "post", &request, OnLapse::Retry).await;
                            there.lapse().await;
                        }
                    }
                });
            });
        });
        let quoted = serde_json::Value::from(to).to_string();
        MEANWHILE
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((quoted, meanwhile));
        let at = desk.clone();
        let worker = TakeoverWorker::new(database.pool()).handle(
            Takeover::of(POST).pauses(Duration::ZERO, Duration::ZERO),
            move |attempt: Attempt, _: Interrupted| {
                let at = at.clone();
                async move { at.deliver(&attempt).await.map(|sent| sent.number) }
            },
        );
        let worker = worker.expect("it is under retry");
        let swept = worker.run_once().await.expect("it answers");
        assert_eq!((swept.begun, swept.overtaken), (1, 1));
        assert_eq!(desk.count(), 0);
        let record = database.record(&key).await;
        let after = record.map(|record| (record.status, record.attempt));
        assert_eq!(
            after,
            match other {
                Other::Forgets => None,
                Other::Releases => Some((Status::Released, 2)),
                Other::Lapses => Some((Status::InProgress, 2)),
            }
        );
    }
}
