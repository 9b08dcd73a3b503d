//! A worker that takes lapsed leases over: what it reads of an encrypted request.

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::codec::{Codec, NameKey, Protection};
use idem_runtime::policy::{Lease, OnLapse, RecordFailures};
use idem_runtime::store::Outcome;
use idem_runtime::takeover::{Takeover, TakeoverSweep};
use idem_runtime::{Attempt, LeasedOperation, Operation, TakeoverWorker};

use crate::desk::{
    Charge, PayError, Receipt, Runs, charge, codec, empty, encrypting, key, receipt, ring, secret,
    store,
};
use crate::subject::Subject;

const MINUTES: Duration = Duration::from_mins(5);

fn leased(codec: &'static Codec) -> LeasedOperation<RecordFailures> {
    Operation::new("payments", "pay")
        .record_failures()
        .codec(codec)
        .lease(MINUTES, OnLapse::Retry)
}

/// Claims as a process does that dies, and lets its lease lapse.
async fn abandon<S: Subject>(subject: &S, codec: &'static Codec) {
    let lease = Lease::new(MINUTES, OnLapse::Retry).expect("within bounds");
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let store = store(Some(codec));
    let mut bound = store.in_connection(&mut *conn);
    let claimed = bound.begin_leased(&key("k"), "pay", &charge(), lease).await;
    assert!(matches!(claimed.expect("it answers"), Outcome::Fresh(_)));
    drop(conn);
    subject.lapse().await;
}

/// Sweeps once with this codec. Returns how often a body ran.
async fn sweep<S: Subject>(subject: &S, codec: &'static Codec) -> (TakeoverSweep, u32) {
    let runs = Arc::new(Runs::default());
    let counted = Arc::clone(&runs);
    let takeover = Takeover::of(leased(codec)).pauses(Duration::ZERO, Duration::ZERO);
    let worker = TakeoverWorker::new(subject.pool().clone()).handle(
        takeover,
        move |attempt: Attempt, request: Charge| {
            assert!(attempt.key() == key("k") && request == charge());
            counted.one_more();
            async { Ok::<_, PayError>(receipt()) }
        },
    );
    let worker = worker.expect("it is under retry");
    let swept = worker.run_once().await.expect("it answers");
    (swept, runs.count())
}

pub(crate) async fn a_worker_opens_an_encrypted_request_and_its_client_replays<S: Subject>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    abandon(&subject, codec).await;
    let (swept, runs) = sweep(&subject, codec).await;
    assert_eq!((swept.completed, runs), (1, 1));
    let body = |_| async { Err::<Receipt, _>(PayError::from(idem_runtime::Error::LeaseLost)) };
    let operation = leased(codec);
    let replayed = operation
        .run(subject.pool(), &key("k"), &charge(), body)
        .await;
    let replayed = replayed.expect("it was taken over");
    assert!(replayed.replayed() && *replayed == receipt());
}

pub(crate) async fn what_no_key_opens_is_left_until_the_key_is_there<S: Subject>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    abandon(&subject, codec).await;
    let other = crate::desk::codec(Protection::encrypted(ring(2)));
    for unable in [empty(), other] {
        let (swept, runs) = sweep(&subject, unable).await;
        assert_eq!((swept.left.codec, swept.left.total(), runs), (1, 1, 0));
    }
    let (swept, runs) = sweep(&subject, codec).await;
    assert_eq!((swept.completed, runs), (1, 1));
}

pub(crate) async fn a_record_with_a_hash_for_its_key_is_left_for_its_client<S: Subject>() {
    let subject = S::fresh().await;
    let hashed = Protection::encrypted(ring(1)).hash_names(NameKey::new(&secret(9)));
    let hashed = codec(hashed);
    abandon(&subject, hashed).await;
    let (swept, runs) = sweep(&subject, hashed).await;
    assert_eq!((swept.left.hashed_key, swept.left.total(), runs), (1, 1, 0));
    let body = |attempt: Attempt| async move {
        assert!(attempt.number() == 2 && attempt.key() == key("k"));
        Ok::<_, PayError>(receipt())
    };
    let operation = leased(hashed);
    let sent = operation
        .run(subject.pool(), &key("k"), &charge(), body)
        .await;
    assert!(!sent.expect("the client takes it over").replayed());
}
