//! Lease mode, waiters, and the settling of unknown outcomes.

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::codec::Codec;
use idem_runtime::error::CodecFault;
use idem_runtime::policy::{Lease, OnLapse, RecordFailures};
use idem_runtime::store::{Outcome, Store};
use idem_runtime::{Error, LeasedOperation, Operation, StoredFailure};
use idem_tests::patience::in_time;
use tokio::sync::Semaphore;

use crate::desk::{
    CARD, Charge, PayError, RECEIPT, Receipt, charge, empty, encrypting, key, receipt, store,
};
use crate::subject::Subject;

/// Where a body stops until it may go on.
struct Stop {
    reached: Semaphore,
    may_pass: Semaphore,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            reached: Semaphore::new(0),
            may_pass: Semaphore::new(0),
        }
    }
}

impl Stop {
    async fn pass(&self) {
        self.reached.add_permits(2);
        let permit = self.may_pass.acquire().await;
        permit.expect("it is never closed").forget();
    }

    async fn reached(&self) {
        let permit = self.reached.acquire().await;
        permit.expect("it is never closed").forget();
    }

    fn open(&self) {
        self.may_pass.add_permits(1);
    }
}

const MINUTES: Duration = Duration::from_mins(5);

fn leased(codec: &'static Codec) -> LeasedOperation<RecordFailures> {
    Operation::new("payments", "pay")
        .record_failures()
        .codec(codec)
        .lease(MINUTES, OnLapse::Unknown)
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}

pub(crate) async fn a_lease_keeps_its_request_encrypted_from_the_claim_on<S: Subject>() {
    let (subject, codec) = (Arc::new(S::fresh().await), encrypting());
    let stop = Arc::new(Stop::default());
    let body = {
        let stop = Arc::clone(&stop);
        async move |_| {
            stop.pass().await;
            Ok::<_, PayError>(receipt())
        }
    };
    let running = async {
        let pool = subject.pool();
        leased(codec).run(pool, &key("k"), &charge(), body).await
    };
    let looked = async {
        stop.reached().await;
        let request = subject.payload("request").await;
        stop.open();
        request
    };
    let (done, request) = in_time("the lease", async { tokio::join!(running, looked) }).await;
    assert!(!done.expect("executed").replayed());
    assert!(request[0] == 2 && !contains(&request, CARD));
    assert_eq!(subject.payload("request").await, request);
    let result = subject.payload("result").await;
    assert!(result[0] == 2 && !contains(&result, RECEIPT));
    let none = async |_| -> Result<Receipt, PayError> { unreachable!("it is recorded") };
    let again = leased(codec)
        .run(subject.pool(), &key("k"), &charge(), none)
        .await;
    assert!(again.expect("replayed").replayed());
    let refused = leased(empty())
        .run(subject.pool(), &key("new"), &charge(), none)
        .await;
    let refused = refused
        .map(|done| done.replayed())
        .expect_err("no keys")
        .refusal();
    assert!(
        matches!(refused, Error::Codec(CodecFault::NotInstalled { .. })),
        "{refused:?}"
    );
    assert_eq!(subject.records().await, 1);
}

pub(crate) async fn waiters_replay_what_is_encrypted<S: Subject>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    let operation = Operation::new("payments", "pay")
        .wait(Duration::from_mins(1))
        .codec(codec);
    let stop = Stop::default();
    let body = async |_: &mut sqlx::Transaction<'_, S::Db>| {
        stop.pass().await;
        Ok::<_, Error>(receipt())
    };
    let (name, request) = (key("k"), charge());
    let first = operation.run(subject.pool(), &name, &request, body);
    let waiter = async |is_last: bool| {
        stop.reached().await;
        if is_last {
            stop.open();
        }
        let none = async |_: &mut sqlx::Transaction<'_, S::Db>| -> Result<Receipt, Error> {
            unreachable!("another attempt runs")
        };
        operation.run(subject.pool(), &name, &request, none).await
    };
    let all = async { tokio::join!(first, waiter(false), waiter(true)) };
    let (first, one, two) = in_time("the waiters", all).await;
    assert!(!first.expect("executed").replayed());
    for answer in [one, two] {
        let replay = answer.expect("replayed");
        assert!(replay.replayed() && *replay == receipt());
    }
}

/// Leaves a lease of unknown outcome.
async fn unknown<S: Subject>(subject: &S, store: &Store<Charge, Receipt>, name: &str) {
    let lease = Lease::new(MINUTES, OnLapse::Unknown).expect("within bounds");
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let mut bound = store.in_connection(&mut *conn);
    let begun = bound
        .begin_leased(&key(name), "pay", &charge(), lease)
        .await;
    let Ok(Outcome::Fresh(lease)) = begun else {
        panic!("{begun:?}");
    };
    bound.leave_unknown(&lease).await.expect("unknown");
}

pub(crate) async fn an_unknown_outcome_is_settled_by_a_store_with_the_codec<S: Subject>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    let protected = store(Some(codec));
    for name in ["happened", "failed"] {
        unknown(&subject, &protected, name).await;
    }
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let mut bound = protected.in_connection(&mut *conn);
    let listed = bound.list_unknown(10, None).await.expect("listed");
    assert_eq!(listed.len(), 2);
    for found in &listed {
        let request: Option<Charge> = found.decode_request().expect("opened");
        assert_eq!(request, Some(charge()));
    }
    let happened = bound.look_up(&key("happened")).await.expect("answered");
    let happened = happened.expect("unknown");
    assert!(!happened.request_is_protected());
    // It may be repeated: the answer to the first write may be lost.
    for _ in 0..2 {
        let settled = bound.resolve_completed(&happened, &receipt()).await;
        settled.expect("settled");
    }
    let failed = bound.look_up(&key("failed")).await.expect("answered");
    let failure = StoredFailure::new("Declined", "by the bank");
    let settled = bound
        .resolve_failed(&failed.expect("unknown"), &failure)
        .await;
    settled.expect("settled");
    drop(conn);
    let none = async |_| -> Result<Receipt, PayError> { unreachable!("it is settled") };
    let operation = leased(codec);
    let again = operation
        .run(subject.pool(), &key("happened"), &charge(), none)
        .await;
    assert_eq!(*again.expect("replayed"), receipt());
    let again = operation
        .run(subject.pool(), &key("failed"), &charge(), none)
        .await;
    let again = again.map(|done| done.replayed()).expect_err("it failed");
    assert!(matches!(&again, PayError::Recorded(failure) if failure.message == "by the bank"));
    assert!(!contains(&subject.dump().await, RECEIPT));
}

pub(crate) async fn a_store_without_the_codec_writes_no_result_in_clear<S: Subject>() {
    let (subject, codec) = (S::fresh().await, encrypting());
    unknown(&subject, &store(Some(codec)), "k").await;
    let plain = store(None);
    let mut conn = subject.pool().acquire().await.expect("a connection");
    let mut bound = plain.in_connection(&mut *conn);
    let found = bound
        .look_up(&key("k"))
        .await
        .expect("answered")
        .expect("unknown");
    assert!(found.request_is_protected() && found.request().is_none());
    let decoded = found.decode_request::<Charge>();
    assert!(
        matches!(decoded, Err(Error::UnknownState { .. })),
        "{decoded:?}"
    );
    let refused = bound.resolve_completed(&found, &receipt()).await;
    assert!(
        matches!(refused, Err(Error::UnknownState { .. })),
        "{refused:?}"
    );
    bound.resolve_never_happened(&found).await.expect("settled");
    drop(conn);
    let body = async |_| Ok::<_, PayError>(receipt());
    let done = leased(codec)
        .run(subject.pool(), &key("k"), &charge(), body)
        .await;
    assert!(!done.expect("executed").replayed());
}
